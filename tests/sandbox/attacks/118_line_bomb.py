"""Prints lines by the hundred thousand, each of which somebody has to look at."""

for number in range(500_000):
    print("line number", number)
