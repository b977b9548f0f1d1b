"""Asks git for the remote's address."""

print(subprocess.run(["git", "remote", "-v"], capture_output=True, text=True).stdout)
