"""Kills another program by its process group."""

import os
import signal
import time

from stage import at

os.killpg(at.victim, signal.SIGKILL)
time.sleep(0.2)
