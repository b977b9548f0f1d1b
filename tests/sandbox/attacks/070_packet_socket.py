"""Listens to all packets.

Root only: it takes its rights.
"""

socket.socket(17, socket.SOCK_RAW, 768).bind(("lo", 0))
print("ESCAPED")
