"""Connects by sending (MSG_FASTOPEN), which is no call to connect."""

with socket.socket() as way:
    way.sendto(b"x", 0x20000000, ("127.0.0.1", at.tcp))
    print("ESCAPED")
