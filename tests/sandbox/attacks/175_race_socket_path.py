"""Swaps a directory for a link to the home while a socket is made below it."""

os.mkdir("mine")


def swap():
    for target in ("mine", at.home):
        os.symlink(target, "new")
        os.rename("new", "turning")


def plant():
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind("turning/planted")
        os.unlink("mine/planted")


race(swap, plant, 0.8)
