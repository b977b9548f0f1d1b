"""Changes another candidate's files."""

from pathlib import Path

from stage import at

Path(at.other, "main.py").write_text("owned")
