"""Reads the kernel's messages.

Root only: others may not read it anyway.
"""

os.read(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), 10_000)
print("ESCAPED")
