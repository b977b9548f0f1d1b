"""Swaps a directory for a link to the home while a socket is made below it."""

os.mkdir("mine")


def swap():
    while time.monotonic() < end:
        for target in ("mine", at.home):
            os.symlink(target, "new")
            os.rename("new", "turning")


end = time.monotonic() + 0.8
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    try:
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind("turning/planted")
            os.unlink("mine/planted")
    except OSError:
        continue
thread.join()
