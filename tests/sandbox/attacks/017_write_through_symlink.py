"""Writes into the home through a symbolic link in the worktree."""

from pathlib import Path

from stage import at

Path("way").symlink_to(at.home)
Path("way/.bashrc").write_text("owned")
