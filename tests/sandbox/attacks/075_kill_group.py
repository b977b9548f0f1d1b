"""Kills another program by its process group.

Landlock before 6: it knows nothing of signals.
"""

os.killpg(at.victim, signal.SIGKILL)
time.sleep(0.2)
