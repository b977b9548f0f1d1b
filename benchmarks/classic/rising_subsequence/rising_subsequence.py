"""The longest rising subsequence."""


def longest_rising(numbers):
    """How many items the longest strictly rising subsequence has."""
    lengths = [1] * len(numbers)
    for end in range(len(numbers)):
        for before in range(end):
            if numbers[before] < numbers[end]:
                lengths[end] = lengths[before] + 1
    return max(lengths, default=0)
