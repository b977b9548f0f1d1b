"""Talks to servers on loopback, by all its addresses and by Multipath TCP, and on the network's address."""

MULTIPATH = 262
for family, protocol, address in (
    (socket.AF_INET, 0, ("127.0.0.1", at.tcp)),
    (socket.AF_INET, 0, ("0.0.0.0", at.tcp)),
    (socket.AF_INET6, 0, ("::ffff:127.0.0.1", at.tcp)),
    (socket.AF_INET6, 0, ("::1", at.tcp6)),
    (socket.AF_INET, MULTIPATH, ("127.0.0.1", at.tcp)),
    (socket.AF_INET, 0, tuple(at.address or ("127.0.0.1", at.tcp))),
):
    attempt(lambda: print(greeting(socket.socket(family, socket.SOCK_STREAM, protocol), address)))
