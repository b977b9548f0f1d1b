"""Connects by sending a message (MSG_FASTOPEN)."""

with socket.socket() as way:
    way.sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", at.tcp))
    print("ESCAPED")
