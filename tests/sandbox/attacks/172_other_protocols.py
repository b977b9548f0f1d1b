"""Talks to a server by Multipath TCP, which is another protocol of the same family.

Here not: where the kernel has none.
"""

with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as way:
    way.settimeout(3)
    way.connect(("127.0.0.1", at.tcp))
    print(way.recv(100).decode())
