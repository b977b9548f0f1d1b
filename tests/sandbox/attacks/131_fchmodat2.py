"""Changes a mode with the newest system call.

Here not: it came with Linux 6.6.
"""

call(452, 452, -100, os.path.join(at.home, ".bashrc").encode(), 0o777, 0)
