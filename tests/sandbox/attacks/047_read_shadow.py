"""Reads the system's password hashes.

Root only: others may not read it anyway.
"""

print("ESCAPED" if "root:" in Path("/etc/shadow").read_text() else "")
