"""Kills another program of the person: by its number, its process group, and a descriptor for it.

Landlock before 6: it knows nothing of signals.
"""

attempt(
    lambda: os.kill(at.victim, signal.SIGKILL),
    lambda: os.killpg(at.victim, signal.SIGKILL),
    lambda: signal.pidfd_send_signal(os.pidfd_open(at.victim), signal.SIGKILL),
)
time.sleep(0.2)
