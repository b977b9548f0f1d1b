"""Kills another program of the person.

Landlock before 6: it knows nothing of signals.
"""

os.kill(at.victim, signal.SIGKILL)
time.sleep(0.2)
