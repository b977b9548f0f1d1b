"""Lets itself in by ssh."""

from pathlib import Path

from stage import at

Path(at.home, ".ssh/authorized_keys").write_text("owned")
