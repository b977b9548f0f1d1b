"""Names a file's owner anew through a directory and through a path descriptor."""

place = os.open(os.path.join(at.home, "bin"), os.O_PATH)
tool = os.open("tool", os.O_PATH, dir_fd=place)
for directory, name, flags in ((place, b"tool", 0), (tool, b"", 0x1000)):
    try:
        call(260, 54, directory, name, os.getuid(), -1, flags)
    except OSError:
        continue
