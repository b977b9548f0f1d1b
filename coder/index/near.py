"""Suggestions for misspelled names."""

import difflib
import heapq
import re
from collections.abc import Iterable

MOST_COMPARED = 60
CUTOFF = 0.7


def similar_names(name: str, names: Iterable[str], count: int) -> tuple[str, ...]:
    """Return the most similar names, best first.

    Names equal but for case and underscores lead, then those that share most letter pairs.
    """
    plain_name = _normalize(name)
    pairs = _pairs(plain_name)
    shared = (
        (_likeness(plain_name, pairs, _normalize(candidate)), candidate)
        for candidate in names
        if abs(len(candidate) - len(name)) <= max(4, len(name) // 2)
    )
    likely = heapq.nlargest(MOST_COMPARED, (pair for pair in shared if pair[0] >= 0.5))
    ratios = [
        (difflib.SequenceMatcher(None, plain_name, _normalize(candidate)).ratio(), candidate)
        for _, candidate in likely
        if candidate != name
    ]
    return tuple(
        candidate
        for score, candidate in sorted(ratios, key=lambda pair: (-pair[0], pair[1]))[:count]
        if score >= CUTOFF
    )


def _normalize(name: str) -> str:
    return re.sub("_", "", name).lower()


def _pairs(word: str) -> set[str]:
    return {word[place : place + 2] for place in range(len(word) - 1)} or {word}


def _likeness(name: str, pairs: set[str], other: str) -> float:
    """Return Dice's coefficient of the letter pairs."""
    if name == other:
        return 1.0
    others = _pairs(other)
    return 2 * len(pairs & others) / (len(pairs) + len(others))
