"""Changes a mode from a working directory outside the worktree."""

os.chdir(at.home)
os.chmod(".bashrc", 0o777)
