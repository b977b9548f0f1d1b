"""Reads the disk below all files.

Root only: others may not read it anyway.
Here not: where a control group refuses devices.
"""

device = os.stat(Path(at.project)).st_dev
os.mknod("disk", stat.S_IFBLK | 0o600, device)
with open("disk", "rb") as disk:
    print("ESCAPED" if disk.read(4096) else "")
