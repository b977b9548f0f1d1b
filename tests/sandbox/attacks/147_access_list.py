"""Opens a file to another user by an access list.

Here not: not every file system has access lists.
"""

entries = ((1, 7, -1), (2, 7, 65534), (4, 7, -1), (16, 7, -1), (32, 7, -1))
value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
os.setxattr(os.path.join(at.home, ".netrc"), "system.posix_acl_access", value)
