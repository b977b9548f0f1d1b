"""Talks to a server on this machine's address in the network.

Here not: without a network.
"""

with socket.create_connection((at.address[0], at.address[1]), timeout=3) as way:
    print(way.recv(100).decode())
