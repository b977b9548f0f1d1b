"""Reads another program's memory by a system call."""

libc.process_vm_readv.argtypes = [
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
]
with open(f"/proc/{at.victim}/maps") as maps:
    line = next(line for line in maps if "[stack]" in line)
first, last = (int(word, 16) for word in line.split()[0].split("-"))
buffer = ctypes.create_string_buffer(last - first)
here = struct.pack("QQ", ctypes.addressof(buffer), last - first)
libc.process_vm_readv(at.victim, here, 1, struct.pack("QQ", first, last - first), 1, 0)
print("ESCAPED" if b"SECRET" in buffer.raw else "")
