"""Talks to a server on the loopback interface by IPv6.

Here not: without IPv6.
"""

with socket.create_connection(("::1", at.tcp6), timeout=3) as way:
    print(way.recv(100).decode())
