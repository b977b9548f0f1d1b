"""Fills the disk from the temporary directory."""

held = []
for number in range(12):
    held.append(tempfile.NamedTemporaryFile())
    held[-1].write(bytes(30 << 20))
    os.fsync(held[-1])
    time.sleep(0.05)
time.sleep(2)
print("ESCAPED")
