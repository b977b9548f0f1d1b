"""Takes an open file out of another program.

Here not: where Yama lets only parents trace.
"""

held = call(438, 438, os.pidfd_open(at.victim), 3, 0)
print(os.pread(held, 100, 0).decode())
