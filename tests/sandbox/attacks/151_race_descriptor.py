"""Turns a descriptor to another file while system calls look at it."""

open("mine", "w").close()
inside, outside = os.open("mine", os.O_RDONLY), os.open(os.path.join(at.project, "main.py"), os.O_RDONLY)
turning = os.dup(inside)


def swap():
    os.dup2(outside, turning)
    os.dup2(inside, turning)


race(swap, lambda: os.fchmod(turning, 0o777), 1.5)
