"""Turns a descriptor to another socket while connect and listen look at it."""

own = socket.create_server(("127.0.0.1", 0))
plain, datagram = socket.socket(), socket.socketpair()[0]
turning = socket.socket(fileno=os.dup(plain.fileno()))


def swap():
    while time.monotonic() < end:
        for other in (own, datagram, plain):
            os.dup2(other.fileno(), turning.fileno())


end = time.monotonic() + 0.8
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    for attempt in (lambda: turning.connect(("127.0.0.1", at.tcp)), lambda: turning.listen()):
        try:
            attempt()
        except OSError:
            continue
thread.join()
if not plain.getsockname()[0].startswith("127.") and plain.getsockname()[1]:
    escaped_in_network()
try:
    plain.settimeout(1)
    print(plain.recv(100).decode())
except OSError:
    pass
