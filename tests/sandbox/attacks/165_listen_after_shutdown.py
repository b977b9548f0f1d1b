"""Shuts a waiting connection down, with which its address is dropped, and listens."""

own = socket.create_server(("127.0.0.1", 0), backlog=0)
waiting = [socket.socket() for number in range(4)]
for way in waiting:
    way.setblocking(False)
    way.connect_ex(own.getsockname())
for server in waiting:
    try:
        server.shutdown(socket.SHUT_RDWR)
        server.listen()
    except OSError:
        continue
    if not server.getsockname()[0].startswith("127."):
        escaped_in_network()
