"""Listens on all addresses of this machine."""

for family, wildcard in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    try:
        server = socket.socket(family)
        server.bind((wildcard, 0))
        server.listen()
    except OSError:
        continue
    if server.getsockname()[0].removeprefix("::ffff:") not in ("127.0.0.1", "::1"):
        escaped_in_network()
