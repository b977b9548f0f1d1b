"""Changes a path in memory from a second thread while system calls look at it."""

inside, outside = b"mine".ljust(4095, b"\0"), os.path.join(at.home, ".bashrc").encode().ljust(4095, b"\0")
open("mine", "w").close()
path = ctypes.create_string_buffer(inside, 4096)
over = False


def swap():
    while not over:
        ctypes.memmove(path, outside, 4095)
        ctypes.memmove(path, inside, 4095)


thread = threading.Thread(target=swap)
thread.start()
end = time.monotonic() + 1.5
while time.monotonic() < end:
    libc.chmod(path, 0o777)
over = True
thread.join()
