"""Removes an extended attribute from a file of the checkout.

Here not: not every file system keeps extended attributes.
"""

import os

from stage import at

os.removexattr(os.path.join(at.project, "main.py"), "user.kept")
