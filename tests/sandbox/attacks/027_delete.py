"""Deletes a file of the checkout."""

from pathlib import Path

from stage import at

Path(at.project, "main.py").unlink()
