"""Opens a device's setting for writing.

Root only: others may not write there anyway.
"""

os.close(os.open("/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY))
print("ESCAPED")
