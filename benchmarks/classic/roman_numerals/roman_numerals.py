"""Roman numerals."""

VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def parse(numeral: str) -> int:
    """The number; a smaller sign before a greater one is taken away."""
    total = 0
    for index, sign in enumerate(numeral):
        value = VALUES[sign]
        following = VALUES[numeral[index + 1]] if index + 1 < len(numeral) else 0
        if value <= following:
            total -= value
        else:
            total += value
    return total
