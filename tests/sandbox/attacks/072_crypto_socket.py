"""Reaches the kernel's ciphers by AF_ALG.

Here not: where the kernel has none.
"""

socket.socket(38, socket.SOCK_SEQPACKET).bind(("hash", "sha256"))
print("ESCAPED")
