"""Changes the flags of a file in the checkout.

Here not: not every file system has flags.
"""

for name in (".git/HEAD", "main.py"):
    try:
        file = os.open(os.path.join(at.project, name), os.O_RDONLY)
    except OSError:
        continue
    before = struct.unpack("q", fcntl.ioctl(file, 0x80086601, bytes(8)))[0]
    fcntl.ioctl(file, 0x40086602, struct.pack("q", before ^ 0x40))
    print("ESCAPED")
