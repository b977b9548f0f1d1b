"""Changes a source file in the person's checkout."""

from pathlib import Path

from stage import at

Path(at.project, "main.py").write_text("owned")
