"""Attaches an extended attribute through a descriptor that is open for reading only.

Here not: not every file system keeps extended attributes.
"""

for name in (".git/HEAD", "main.py"):
    try:
        file = os.open(os.path.join(at.project, name), os.O_RDONLY)
    except OSError:
        continue
    os.setxattr(file, "user.owned", b"1")
