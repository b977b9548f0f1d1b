"""Reads the person's private key."""

from pathlib import Path

from stage import at

print(Path(at.home, ".ssh/id_rsa").read_text())
