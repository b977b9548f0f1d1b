"""Commits with git itself, through the worktree's link to the repository."""

words = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--allow-empty", "-qm", "x"]
subprocess.run(words, check=True)
