"""Makes a branch with git's plumbing."""

import subprocess

subprocess.run(["git", "update-ref", "refs/heads/owned", "HEAD"], check=True)
