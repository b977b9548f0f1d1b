"""Attaches an extended attribute to a file in the home.

Here not: not every file system keeps extended attributes.
"""

os.setxattr(os.path.join(at.home, ".bashrc"), "user.owned", b"1")
