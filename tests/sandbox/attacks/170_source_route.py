"""Sends what goes to a server of its own through another machine, by a source route.

Here not: without IPv6.
"""

server = socket.create_server(("::1", 0), family=socket.AF_INET6)
way = socket.create_connection(server.getsockname()[:2])
last, middle = (socket.inet_pton(socket.AF_INET6, address) for address in ("::1", "2001:db8::1"))
for level, option, value in (
    # IPV6_RTHDR: a segment routing header of one segment
    (
        41,
        57,
        struct.pack("=BBBBBBH", 0, 4, 4, 1, 1, 0, 0) + last + middle,
    ),
    # IP_OPTIONS: a loose source route
    (0, 4, bytes((131, 7, 4)) + socket.inet_aton("192.0.2.1") + b"\0"),
):
    try:
        way.setsockopt(level, option, value)
        escaped_in_network()
    except OSError:
        continue
