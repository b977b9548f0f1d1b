"""Changes a mode of what a path descriptor refers to, with an empty path.

Here not: it came with Linux 6.6.
"""

place = os.open(os.path.join(at.home, ".bashrc"), os.O_PATH)
call(452, 452, place, b"", 0o777, 0x1000)
