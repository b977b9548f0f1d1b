"""Adds a line to what the person's shell runs at its start."""

from pathlib import Path

from stage import at

Path(at.home, ".bashrc").write_text("owned")
