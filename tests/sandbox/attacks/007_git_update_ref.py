"""Makes a branch with git's plumbing."""

subprocess.run(["git", "update-ref", "refs/heads/owned", "HEAD"], check=True)
