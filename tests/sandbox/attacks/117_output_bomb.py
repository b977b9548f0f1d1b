"""Prints more than anybody can read or hold."""

for _ in range(400):
    sys.stdout.write("x" * 100_000)
