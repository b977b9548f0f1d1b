"""Opens a setting of the kernel for writing.

Root only: others may not write there anyway.
"""

os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
print("ESCAPED")
