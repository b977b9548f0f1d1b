"""Leaves a linked directory that the person's side reads through.

Then: read docs/id_rsa
"""

import os
from pathlib import Path

from stage import at

os.symlink(Path(at.home, ".ssh"), "docs")
