"""Talks to a system service, as to Docker.

Root only: here only root can make a socket in /run.
"""

with socket.socket(socket.AF_UNIX) as way:
    way.connect(at.daemon)
    print(way.recv(100).decode())
