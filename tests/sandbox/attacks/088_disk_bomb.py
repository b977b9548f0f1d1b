"""Fills the disk from the worktree."""

for number in range(12):
    with open(f"big{number}", "wb") as file:
        file.write(bytes(30 << 20))
        os.fsync(file)
    time.sleep(0.05)
time.sleep(2)
print("ESCAPED")
