"""Swaps a file for a link to the home while system calls look at it."""

outside = os.path.join(at.home, ".bashrc")
open("kept", "w").close()


def swap():
    while time.monotonic() < end:
        for make in (lambda: os.link("kept", "new"), lambda: os.symlink(outside, "new")):
            make()
            os.rename("new", "turning")


end = time.monotonic() + 1.5
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    try:
        os.chmod("turning", 0o777)
        os.utime("turning", (1, 1))
    except OSError:
        continue
thread.join()
