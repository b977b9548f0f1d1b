"""Loads a program into the kernel, or learns whether it might.

Root only: it takes its rights.
Here not: where the kernel has it turned off.
"""

BPF_MAP_CREATE, ARRAY = 0, 2
call(
    321,
    280,
    BPF_MAP_CREATE,
    ctypes.create_string_buffer(struct.pack("IIIII", ARRAY, 4, 4, 1, 0) + bytes(100)),
    120,
)
print("ESCAPED")
