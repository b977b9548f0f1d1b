"""Sets times with the oldest system calls for it."""

path = os.path.join(at.home, ".bashrc").encode()
if X86:
    for number, arguments in (
        (132, (path, struct.pack("2q", 1, 1))),
        (235, (path, bytes(32))),
        (261, (-100, path, bytes(32))),
    ):
        try:
            call(number, 0, *arguments)
        except OSError:
            continue
else:
    os.utime(path, (1, 1))
