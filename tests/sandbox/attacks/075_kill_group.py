"""Kills another program by its process group.

Landlock before 6: it knows nothing of signals.
"""

import os
import signal
import time

from stage import at

os.killpg(at.victim, signal.SIGKILL)
time.sleep(0.2)
