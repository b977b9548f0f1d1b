"""Sets times by names, of a link itself, through descriptors, and with the oldest system calls."""

path = os.path.join(at.home, ".bashrc")
oldest = ((132, path, struct.pack("2q", 1, 1)), (235, path, bytes(32)), (261, -100, path, bytes(32)))
attempt(
    lambda: os.utime(path, (1, 1)),
    lambda: os.utime(os.path.join(at.home, "bin/link"), (1, 1), follow_symlinks=False),
    lambda: call(280, 88, os.open(path, os.O_PATH), b"", struct.pack("4q", 1, 0, 1, 0), 0x1000),
    *(lambda file=file: os.utime(file, (1, 1)) for file in open_checkout()),
    *(lambda words=words: call(words[0], 0, *map(encode, words[1:])) for words in oldest if X86),
)
