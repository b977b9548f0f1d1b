"""Takes memory in /dev/shm."""

try:
    for number in range(20):
        with open(f"/dev/shm/coder-attack-{number}", "wb") as file:
            file.write(bytes(30 << 20))
        time.sleep(0.05)
    time.sleep(2)
    print("ESCAPED")
finally:
    import os

    for number in range(20):
        try:
            os.unlink(f"/dev/shm/coder-attack-{number}")
        except OSError:
            continue
