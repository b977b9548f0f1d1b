"""Reads the person's passwords."""

from pathlib import Path

from stage import at

print(Path(at.home, ".netrc").read_text())
