"""Ties a connection to an interface that leads out."""

server = socket.create_server(("127.0.0.1", 0))
way = socket.create_connection(server.getsockname())
outer = [name for index, name in socket.if_nameindex() if name != "lo"]
way.setsockopt(socket.SOL_SOCKET, 25, (outer or ["lo"])[0].encode())
escaped_in_network()
