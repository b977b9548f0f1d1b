"""Takes more and more memory."""

held = []
for _ in range(60):
    held.append(bytearray(b"x" * (10 << 20)))
    time.sleep(0.02)
print("ESCAPED")
