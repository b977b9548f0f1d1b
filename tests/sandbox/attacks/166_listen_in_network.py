"""Listens on this machine's address in the network.

Here not: without a network.
"""

server = socket.socket()
server.bind((at.address[0], 0))
server.listen()
escaped_in_network()
