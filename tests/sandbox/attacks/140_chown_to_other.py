"""Gives a file away.

Root only: it takes its rights.
"""

import os

from stage import at

os.chown(os.path.join(at.home, ".netrc"), 1, 1)
