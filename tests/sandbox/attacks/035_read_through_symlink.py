"""Reads a key through a symbolic link in the worktree."""

Path("innocent").symlink_to(Path(at.home, ".ssh"))
print(Path("innocent/id_rsa").read_text())
