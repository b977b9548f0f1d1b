"""Prints more than anybody can read or hold."""

import sys

for _ in range(400):
    sys.stdout.write("x" * 100_000)
