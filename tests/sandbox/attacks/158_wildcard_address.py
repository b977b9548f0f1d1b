"""Talks to a server on loopback by the address that stands for all."""

with socket.socket() as way:
    way.settimeout(3)
    way.connect(("0.0.0.0", at.tcp))
    print(way.recv(100).decode())
