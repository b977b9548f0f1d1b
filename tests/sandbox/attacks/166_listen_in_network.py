"""Listens on this machine's address in the network.

Here not: without a network.
"""

server = socket.socket()
server.bind((at.address[0], 0))
server.listen()
if server.getsockname()[0] == at.address[0]:
    escaped_in_network()
