"""Moves the person's branch."""

from pathlib import Path

from stage import at

Path(at.project, ".git/refs/heads/main").write_text("owned")
