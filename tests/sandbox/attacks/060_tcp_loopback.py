"""Talks to a server on this machine's loopback interface."""

with socket.create_connection(("127.0.0.1", at.tcp), timeout=3) as way:
    print(way.recv(100).decode())
