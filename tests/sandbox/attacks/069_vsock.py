"""Opens a socket to the host of this virtual machine.

Here not: where the kernel has no vsock.
"""

with socket.socket(40, socket.SOCK_STREAM) as way:
    if at.vsock:
        way.connect((1, at.vsock))
        print(way.recv(100).decode())
    print("ESCAPED")
