"""Puts a system call filter of its own on top and lets every call continue."""

program = [
    (0x20, 0, 0, 0),
    (0x15, 0, 1, 90 if X86 else 53),
    (0x06, 0, 0, 0x7FC00000),
    (0x06, 0, 0, 0x7FFF0000),
]
steps = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
libc.prctl(38, 1, 0, 0, 0)
listener = call(317, 277, 1, 8, struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(steps)))


def let_continue():
    while True:
        asked = bytearray(80)
        fcntl.ioctl(listener, 0xC0502100, asked)
        fcntl.ioctl(listener, 0xC0182101, struct.pack("QqiI", *struct.unpack_from("Q", asked), 0, 0, 1))


supervisor = os.fork()
if supervisor == 0:
    let_continue()
try:
    os.chmod(os.path.join(at.home, ".bashrc"), 0o777)
finally:
    os.kill(supervisor, 9)
