"""Swaps a socket of its own for a link to a service while connect looks at it."""

own = socket.socket(socket.AF_UNIX)
own.bind("own")
own.listen(4096)


def swap():
    while time.monotonic() < end:
        for target in ("own", at.socket):
            os.symlink(target, "new")
            os.rename("new", "turning")


end = time.monotonic() + 0.8
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    try:
        with socket.socket(socket.AF_UNIX) as way:
            way.setblocking(False)
            way.connect("turning")
            print(way.recv(100).decode())
    except OSError:
        continue
thread.join()
