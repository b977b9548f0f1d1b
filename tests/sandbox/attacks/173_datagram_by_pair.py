"""Sends a datagram to a socket beside the project, by one end of a pair."""

near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
near.sendto(b"owned", at.datagram)
time.sleep(0.2)
