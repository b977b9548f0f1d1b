"""Takes a share of the connections to a server that lets its port be shared (SO_REUSEPORT)."""

server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind(("127.0.0.1", at.shared))
server.listen()
escaped_in_network()
