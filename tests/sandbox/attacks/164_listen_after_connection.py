"""Dissolves a connection, with which the kernel drops an address that nobody chose, and listens."""

own = socket.create_server(("127.0.0.1", 0))
with socket.socket() as server:
    server.connect(own.getsockname())
    libc.connect(server.fileno(), ctypes.create_string_buffer(16), 16)
    server.listen()
    if not server.getsockname()[0].startswith("127."):
        escaped_in_network()
