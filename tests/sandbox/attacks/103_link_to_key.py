"""Leaves a link that the person's side reads through.

Then: read notes.txt
"""

import os
from pathlib import Path

from stage import at

os.symlink(Path(at.home, ".ssh/id_rsa"), "notes.txt")
