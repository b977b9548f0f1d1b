"""Turns a descriptor to another file while system calls look at it."""

open("mine", "w").close()
inside, outside = os.open("mine", os.O_RDONLY), os.open(os.path.join(at.project, "main.py"), os.O_RDONLY)
turning = os.dup(inside)


def swap():
    while time.monotonic() < end:
        os.dup2(outside, turning)
        os.dup2(inside, turning)


end = time.monotonic() + 1.5
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    try:
        os.fchmod(turning, 0o777)
    except OSError:
        continue
thread.join()
