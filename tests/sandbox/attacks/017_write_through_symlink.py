"""Writes into the home through a symbolic link in the worktree."""

Path("way").symlink_to(at.home)
Path("way/.bashrc").write_text("owned")
