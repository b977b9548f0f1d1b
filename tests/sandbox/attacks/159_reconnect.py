"""Connects to a server of its own, dissolves the connection and takes the socket to another."""

server = socket.create_server(("127.0.0.1", 0))
with socket.socket() as way:
    way.connect(server.getsockname())
    libc.connect(way.fileno(), ctypes.create_string_buffer(16), 16)
    way.settimeout(3)
    way.connect(("127.0.0.1", at.tcp))
    print(way.recv(100).decode())
