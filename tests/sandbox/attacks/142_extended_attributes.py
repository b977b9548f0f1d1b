"""Attaches and removes extended attributes and an access list, by names and through descriptors.

Here not: not every file system keeps extended attributes.
"""

path = os.path.join(at.home, ".bashrc")
value = ctypes.create_string_buffer(b"1")
arguments = struct.pack("QII", ctypes.addressof(value), 1, 0)
entries = ((1, 7, -1), (2, 7, 65534), (4, 7, -1), (16, 7, -1), (32, 7, -1))
access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
attempt(
    lambda: os.setxattr(path, "user.owned", b"1"),
    lambda: os.setxattr(f"/proc/self/fd/{os.open(path, os.O_PATH)}", "user.descriptor", b"1"),
    lambda: call(463, 463, -100, path.encode(), 0, b"user.newest", arguments, ctypes.c_size_t(16)),
    lambda: os.removexattr(os.path.join(at.project, "main.py"), "user.kept"),
    lambda: os.setxattr(os.path.join(at.home, ".netrc"), "system.posix_acl_access", access_list),
    *(lambda file=file: os.setxattr(file, "user.owned", b"1") for file in open_checkout()),
)
