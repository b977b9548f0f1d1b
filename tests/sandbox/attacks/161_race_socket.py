"""Turns a descriptor to another socket while connect and listen look at it."""

own = socket.create_server(("127.0.0.1", 0))
plain, datagram = socket.socket(), socket.socketpair()[0]
turning = socket.socket(fileno=os.dup(plain.fileno()))


def swap():
    for other in (own, datagram, plain):
        os.dup2(other.fileno(), turning.fileno())


race(swap, lambda: attempt(lambda: turning.connect(("127.0.0.1", at.tcp)), turning.listen), 0.8)
if not plain.getsockname()[0].startswith("127.") and plain.getsockname()[1]:
    escaped_in_network()
plain.settimeout(1)
attempt(lambda: print(plain.recv(100).decode()))
