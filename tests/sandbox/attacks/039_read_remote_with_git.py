"""Asks git for the remote's address."""

import subprocess

print(subprocess.run(["git", "remote", "-v"], capture_output=True, text=True).stdout)
