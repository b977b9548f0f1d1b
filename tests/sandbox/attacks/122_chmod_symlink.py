"""Changes a mode through a symbolic link in the worktree."""

os.symlink(os.path.join(at.home, ".bashrc"), "way-to-mode")
os.chmod("way-to-mode", 0o777)
