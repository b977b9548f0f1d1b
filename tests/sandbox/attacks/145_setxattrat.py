"""Attaches an extended attribute with the newest system call.

Here not: it came with Linux 6.13, and not every file system keeps extended attributes.
"""

value = ctypes.create_string_buffer(b"1")
arguments = struct.pack("QII", ctypes.addressof(value), 1, 0)
call(
    463,
    463,
    -100,
    os.path.join(at.home, ".bashrc").encode(),
    0,
    b"user.owned",
    arguments,
    ctypes.c_size_t(16),
)
