"""Opens a hidden file by its handle, past all names.

Root only: it takes its rights.
"""

handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
mount = ctypes.c_int()
call(303, 264, -100, os.fsencode(Path(at.home, ".ssh/id_rsa")), handle, ctypes.byref(mount), 0)
where = os.open(".", os.O_RDONLY)
found = call(304, 265, where, handle, os.O_RDONLY)
print(os.read(found, 100).decode())
