"""Puts a file into /etc.

Root only: others may not write there anyway.
"""

Path("/etc/coder-attack").write_text("owned")
