"""Listens without an address, which opens the socket to all networks."""

server = socket.socket()
server.listen()
if not server.getsockname()[0].startswith("127."):
    escaped_in_network()
