"""Sets times of what a path descriptor refers to, with an empty path."""

place = os.open(os.path.join(at.home, ".bashrc"), os.O_PATH)
call(280, 88, place, b"", struct.pack("4q", 1, 0, 1, 0), 0x1000)
