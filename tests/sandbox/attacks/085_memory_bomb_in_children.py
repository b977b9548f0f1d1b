"""Takes memory in many processes, a little in each."""

for _ in range(30):
    if os.fork() == 0:
        held = bytearray(b"x" * (20 << 20))
        time.sleep(20)
        os._exit(0)
time.sleep(5)
print("ESCAPED")
