"""Changes the flags of a file in the checkout.

Here not: not every file system has flags.
"""

for file in open_checkout():
    before = struct.unpack("q", fcntl.ioctl(file, 0x80086601, bytes(8)))[0]
    fcntl.ioctl(file, 0x40086602, struct.pack("q", before ^ 0x40))
    print("ESCAPED")
