"""Sends packets of its own making.

Root only: it takes its rights.
"""

with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as way:
    way.sendto(b"\x08\x00\xf7\xff\x00\x00\x00\x00", ("127.0.0.1", 0))
    print("ESCAPED")
