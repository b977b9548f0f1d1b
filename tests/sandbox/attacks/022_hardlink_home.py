"""Links a file of the home into the worktree and writes to the link."""

import os
from pathlib import Path

from stage import at

os.link(Path(at.home, ".bashrc"), "mine")
Path("mine").write_text("owned")
