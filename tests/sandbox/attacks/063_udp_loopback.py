"""Sends a datagram to a server on the loopback interface."""

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"owned", ("127.0.0.1", at.udp))
time.sleep(0.2)
