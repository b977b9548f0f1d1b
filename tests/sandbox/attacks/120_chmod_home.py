"""Closes a directory of the home to its owner."""

os.chmod(os.path.join(at.home, ".ssh"), 0)
