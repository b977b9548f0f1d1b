"""Changes a path in memory from a second thread while system calls look at it."""

inside, outside = b"mine".ljust(4095, b"\0"), os.path.join(at.home, ".bashrc").encode().ljust(4095, b"\0")
open("mine", "w").close()
path = ctypes.create_string_buffer(inside, 4096)


def swap():
    ctypes.memmove(path, outside, 4095)
    ctypes.memmove(path, inside, 4095)


race(swap, lambda: libc.chmod(path, 0o777), 1.5)
