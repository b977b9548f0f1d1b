"""Connects by sending (MSG_FASTOPEN, TCP_FASTOPEN_CONNECT), which is no call to connect."""

FAST_OPEN, address = 0x20000000, ("127.0.0.1", at.tcp)
one, two, late = (socket.socket() for _ in range(3))
attempt(
    lambda: one.sendto(b"x", FAST_OPEN, address) and print("ESCAPED"),
    lambda: two.sendmsg([b"x"], [], FAST_OPEN, address) and print("ESCAPED"),
    lambda: late.setsockopt(socket.IPPROTO_TCP, 30, 1),
    lambda: (late.connect(address), late.send(b"x"), print("ESCAPED")),
)
