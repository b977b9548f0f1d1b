"""Reads the password in the address of the repository's remote."""

from pathlib import Path

from stage import at

print(Path(at.project, ".git/config").read_text())
