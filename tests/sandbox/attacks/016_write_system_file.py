"""Puts a file into /etc.

Root only: others may not write there anyway.
"""

from pathlib import Path

Path("/etc/coder-attack").write_text("owned")
