"""Closes a directory of the home to its owner."""

import os

from stage import at

os.chmod(os.path.join(at.home, ".ssh"), 0)
