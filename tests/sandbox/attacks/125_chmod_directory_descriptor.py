"""Changes a mode relative to a directory that is open as a path."""

import os

from stage import at

place = os.open(at.home, os.O_PATH)
os.chmod(".bashrc", 0o777, dir_fd=place)
