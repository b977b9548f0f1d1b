"""Gives a file away.

Root only: it takes its rights.
"""

os.chown(os.path.join(at.home, ".netrc"), 1, 1)
