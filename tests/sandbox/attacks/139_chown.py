"""Names a program's owner anew, which takes its rights, by its name, its directory and a descriptor."""

place = os.open(os.path.join(at.home, "bin"), os.O_PATH)
tool = os.open("tool", os.O_PATH, dir_fd=place)
attempt(
    lambda: os.chown(os.path.join(at.home, "bin/tool"), os.getuid(), -1),
    lambda: call(260, 54, place, b"tool", os.getuid(), -1, 0),
    lambda: call(260, 54, tool, b"", os.getuid(), -1, 0x1000),
)
