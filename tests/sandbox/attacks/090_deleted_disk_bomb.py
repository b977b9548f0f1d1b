"""Fills the disk with files that it has deleted already."""

held = []
for _ in range(12):
    file = open("gone", "wb")
    os.unlink("gone")
    file.write(bytes(30 << 20))
    os.fsync(file)
    held.append(file)
    time.sleep(0.05)
time.sleep(2)
print("ESCAPED")
