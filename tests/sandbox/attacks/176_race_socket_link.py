"""Swaps a socket of its own for a link to a service while connect looks at it."""

own = socket.socket(socket.AF_UNIX)
own.bind("own")
own.listen(4096)


def swap():
    for target in ("own", at.socket):
        os.symlink(target, "new")
        os.rename("new", "turning")


def connect():
    with socket.socket(socket.AF_UNIX) as way:
        way.setblocking(False)
        way.connect("turning")
        print(way.recv(100).decode())


race(swap, connect, 0.8)
