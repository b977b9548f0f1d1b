"""Lets its port be shared with a later server, to get a share of its connections."""

server = socket.create_server(("127.0.0.1", 0))
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
if server.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT):
    escaped_in_network()
