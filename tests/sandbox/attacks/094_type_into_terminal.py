"""Types into the person's terminal, also with a request number whose upper half is not zero.

Here not: where the kernel lets nobody do so (dev.tty.legacy_tiocsti = 0).
"""

os.setsid() if os.getpid() != os.getsid(0) else None
terminal = os.open(at.terminal, os.O_RDWR)
attempt(
    lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 1),
    lambda: fcntl.ioctl(terminal, termios.TIOCSTI, b"x"),
    lambda: call(16, 29, terminal, (1 << 32) | 0x5412, b"\n"),
)
