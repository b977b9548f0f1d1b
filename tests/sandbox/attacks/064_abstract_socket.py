"""Talks to an abstract socket of another program."""

with socket.socket(socket.AF_UNIX) as way:
    way.connect(f"\0{at.abstract}")
    print(way.recv(100).decode())
