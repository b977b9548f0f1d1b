"""Reads the system's password hashes.

Root only: others may not read it anyway.
"""

from pathlib import Path

print("ESCAPED" if "root:" in Path("/etc/shadow").read_text() else "")
