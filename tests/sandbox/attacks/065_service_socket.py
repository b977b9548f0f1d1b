"""Talks to a socket that lies beside the project."""

with socket.socket(socket.AF_UNIX) as way:
    way.connect(at.socket)
    print(way.recv(100).decode())
