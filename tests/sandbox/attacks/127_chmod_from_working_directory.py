"""Changes a mode from a working directory outside the worktree."""

import os

from stage import at

os.chdir(at.home)
os.chmod(".bashrc", 0o777)
