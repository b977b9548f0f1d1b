"""Makes a user namespace with clone."""

CLONE_NEWUSER = 0x10000000
if call(56, 220, CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    os._exit(0)
print("ESCAPED")
