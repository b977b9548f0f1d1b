"""The distance of Levenshtein."""


def distance(one: str, other: str) -> int:
    """How many characters must be added, taken away or changed to make `other` of `one`."""
    previous = list(range(len(other) + 1))
    for i, first in enumerate(one, 1):
        current = [i]
        for j, second in enumerate(other, 1):
            changed = previous[j] + (first != second)
            current.append(min(previous[j] + 1, current[j - 1] + 1, changed))
        previous = current
    return previous[-1]
