"""Sets the times of a symbolic link itself."""

import os

from stage import at

os.utime(os.path.join(at.home, "bin/link"), (1, 1), follow_symlinks=False)
