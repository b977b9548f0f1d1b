"""Knuth, Morris and Pratt."""


def borders(pattern: str) -> list[int]:
    """For each prefix, how long its longest proper prefix is that is a suffix as well."""
    lengths = [0] * len(pattern)
    matched = 0
    for index in range(1, len(pattern)):
        while matched and pattern[index] != pattern[matched]:
            matched = 0
        if pattern[index] == pattern[matched]:
            matched += 1
        lengths[index] = matched
    return lengths


def find(text: str, pattern: str) -> int:
    """The index of the first match, or -1."""
    if not pattern:
        return 0
    lengths = borders(pattern)
    matched = 0
    for index, character in enumerate(text):
        while matched and character != pattern[matched]:
            matched = lengths[matched - 1]
        if character == pattern[matched]:
            matched += 1
        if matched == len(pattern):
            return index - matched + 1
    return -1
