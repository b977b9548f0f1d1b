"""Talks to the person's ssh agent."""

with socket.socket(socket.AF_UNIX) as way:
    way.connect(at.agent)
    print(way.recv(100).decode())
