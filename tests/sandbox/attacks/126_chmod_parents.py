"""Changes a mode by a relative path that climbs out of the worktree."""

os.chmod(os.path.join(os.path.relpath("/"), at.home.lstrip("/"), ".bashrc"), 0o777)
