"""Leaves a link that the person's side writes through.

Then: write notes.txt
"""

import os
from pathlib import Path

from stage import at

os.symlink(Path(at.home, ".bashrc"), "notes.txt")
