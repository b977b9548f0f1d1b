"""Types a command into the person's terminal.

Here not: where the kernel lets nobody do so (dev.tty.legacy_tiocsti = 0).
"""

os.setsid() if os.getpid() != os.getsid(0) else None
terminal = os.open(at.terminal, os.O_RDWR)
fcntl.ioctl(terminal, termios.TIOCSCTTY, 1)
for letter in b"owned\n":
    fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))
