"""Sets the times of a file in the home."""

os.utime(os.path.join(at.home, ".bashrc"), (1, 1))
