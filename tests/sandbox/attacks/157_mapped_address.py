"""Talks to a server on loopback by an IPv4 address in IPv6."""

with socket.socket(socket.AF_INET6) as way:
    way.settimeout(3)
    way.connect(("::ffff:127.0.0.1", at.tcp))
    print(way.recv(100).decode())
