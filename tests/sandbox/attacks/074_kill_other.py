"""Kills another program of the person."""

import os
import signal
import time

from stage import at

os.kill(at.victim, signal.SIGKILL)
time.sleep(0.2)
