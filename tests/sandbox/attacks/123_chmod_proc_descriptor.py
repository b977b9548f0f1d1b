"""Changes a mode through /proc/self/fd and a descriptor that is only a path."""

import os

from stage import at

place = os.open(os.path.join(at.home, ".ssh"), os.O_PATH)
os.chmod(f"/proc/self/fd/{place}", 0o777)
