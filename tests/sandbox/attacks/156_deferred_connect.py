"""Defers a connection until it sends (TCP_FASTOPEN_CONNECT)."""

with socket.socket() as way:
    way.setsockopt(socket.IPPROTO_TCP, 30, 1)
    way.connect(("127.0.0.1", at.tcp))
    way.send(b"x")
    print("ESCAPED")
