"""Listens on a server's port by IPv6, where clients of localhost look first.

Here not: without IPv6.
"""

server = socket.socket(socket.AF_INET6)
server.bind(("::1", at.tcp))
server.listen()
escaped_in_network()
