"""Sets the times of a system file.

Root only: the file is root's.
"""

before = os.stat("/etc/hostname").st_mtime_ns
os.utime("/etc/hostname", ns=(before, before - 1000))
print("ESCAPED" if os.stat("/etc/hostname").st_mtime_ns != before else "")
os.utime("/etc/hostname", ns=(before, before))
