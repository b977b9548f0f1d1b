"""Counting sort for small natural numbers."""


def counting_sort(numbers):
    if not numbers:
        return []
    counts = [0] * max(numbers)
    for number in numbers:
        counts[number] += 1
    result = []
    for number, count in enumerate(counts):
        result.extend([number] * count)
    return result
