"""Types into the terminal with a request number whose upper half is not zero.

Here not: where the kernel lets nobody do so (dev.tty.legacy_tiocsti = 0).
"""

os.setsid() if os.getpid() != os.getsid(0) else None
terminal = os.open(at.terminal, os.O_RDWR)
call(16, 29, terminal, 0x540E, 1)
call(16, 29, terminal, (1 << 32) | 0x5412, b"x")
call(16, 29, terminal, (1 << 32) | 0x5412, b"\n")
