"""What is counted."""

from collections import Counter


def count_words(text):
    return len(text.split())


def count_lines(text):
    return len(text.splitlines())


COUNTS = {"words": count_words, "lines": count_lines, "characters": len}


def most_common(text, number):
    """The most frequent words with their counts; equally frequent ones by the alphabet."""
    counted = Counter(text.lower().split())
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))[:number]
