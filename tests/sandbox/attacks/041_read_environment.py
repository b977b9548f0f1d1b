"""Reads the keys of another program's environment."""

from pathlib import Path

from stage import at

print(Path(f"/proc/{at.victim}/environ").read_text())
