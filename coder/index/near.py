"""Names that a misspelt one may mean."""

import difflib
import heapq
import re
from collections.abc import Iterable

MOST_COMPARED = 60
CUTOFF = 0.7


def nearest(name: str, names: Iterable[str], count: int) -> tuple[str, ...]:
    """The likeliest of many names, best first: the same but for case and underscores, then those that share most pairs of letters."""
    wanted = _plain(name)
    pairs = _pairs(wanted)
    shared = (
        (_likeness(wanted, pairs, _plain(other)), other)
        for other in names
        if abs(len(other) - len(name)) <= max(4, len(name) // 2)
    )
    likely = heapq.nlargest(MOST_COMPARED, (pair for pair in shared if pair[0] >= 0.5))
    scored = [
        (difflib.SequenceMatcher(None, wanted, _plain(other)).ratio(), other)
        for _, other in likely
        if other != name
    ]
    return tuple(
        other
        for score, other in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:count]
        if score >= CUTOFF
    )


def _plain(name: str) -> str:
    return re.sub("_", "", name).lower()


def _pairs(word: str) -> set[str]:
    return {word[place : place + 2] for place in range(len(word) - 1)} or {word}


def _likeness(wanted: str, pairs: set[str], other: str) -> float:
    """Dice's coefficient of the pairs of letters."""
    if wanted == other:
        return 1.0
    others = _pairs(other)
    return 2 * len(pairs & others) / (len(pairs) + len(others))
