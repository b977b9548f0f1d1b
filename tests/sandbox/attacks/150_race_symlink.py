"""Swaps a file for a link to the home while system calls look at it."""

outside = os.path.join(at.home, ".bashrc")
open("kept", "w").close()


def swap():
    for make in (lambda: os.link("kept", "new"), lambda: os.symlink(outside, "new")):
        make()
        os.rename("new", "turning")


def change():
    os.chmod("turning", 0o777)
    os.utime("turning", (1, 1))


race(swap, change, 1.5)
