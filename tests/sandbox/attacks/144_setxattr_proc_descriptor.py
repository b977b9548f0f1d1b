"""Attaches an extended attribute through /proc/self/fd.

Here not: not every file system keeps extended attributes.
"""

place = os.open(os.path.join(at.home, ".bashrc"), os.O_PATH)
os.setxattr(f"/proc/self/fd/{place}", "user.owned", b"1")
