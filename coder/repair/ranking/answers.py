"""What the answers of an edit say of it: how much it changes, whether it stumbles, whether it still tells things apart."""

from collections.abc import Sequence
from itertools import zip_longest

from coder.core.ports.repair import Compared

PART = "\t"
"""Stands between the parts of an answer."""
EXAMPLE, KEPT = ">>> ", "as documented"
"""How an example of some documentation stands among the calls, and the answer of one that comes out as it is written."""
LEAST_TOLD = 3
"""Calls of one function that must be there for it to tell that all are answered the same now."""
ACCIDENTS = frozenset(
    f"raises {name}"
    for name in (
        "AttributeError",
        "IndexError",
        "NameError",
        "RecursionError",
        "TooLong",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    )
)
"""What code raises where it is at a loss, rather than on purpose."""


def changed(answers: Sequence[str], found: Compared) -> float:
    """The part of the unchanged code's answers that are others now; an answer may be another in some of its parts only."""
    pairs = [
        (before, after)
        for call, before, after in zip(found.calls, found.before, answers, strict=False)
        if not _is_example(call)
    ]
    return (
        sum(_apart(before.split(PART), after.split(PART)) for before, after in pairs) / len(pairs)
        if pairs
        else 0.0
    )


def stumbling(answers: Sequence[str]) -> float:
    """The part of the answers that are accidents."""
    return sum(answer.split(PART)[0] in ACCIDENTS for answer in answers) / len(answers) if answers else 0.0


def contradicting(answers: Sequence[str], found: Compared) -> float:
    """The part of the documentation's examples that come out otherwise than it says."""
    told = [answer for call, answer in zip(found.calls, answers, strict=False) if _is_example(call)]
    return sum(answer != KEPT for answer in told) / len(told) if told else 0.0


def levelled(answers: Sequence[str], found: Compared) -> bool:
    """Does a function that told several things apart now answer the same to whatever it is asked, and not what it was given?"""
    asked: dict[str, list[int]] = {}
    for place, call in enumerate(found.calls[: len(answers)]):
        asked.setdefault(call.partition("(")[0], []).append(place)
    return any(
        len(places) >= LEAST_TOLD
        and len(_given(found.before, places) - ACCIDENTS) > 1
        and len(given := _given(answers, places)) == 1
        and not all(f"={item}" in found.calls[place] for item in given for place in places)
        for places in asked.values()
    )


def _is_example(call: str) -> bool:
    return call.startswith(EXAMPLE)


def _given(answers: Sequence[str], places: Sequence[int]) -> set[str]:
    return {answers[place].split(PART)[0] for place in places}


def _apart(one: Sequence[str], other: Sequence[str]) -> float:
    """How much of an answer differs: what is given counts as much as what is left behind and what is printed."""
    differing = [mine for mine, theirs in zip_longest(one, other) if mine != theirs]
    return len(differing) / max(len(one), len(other))
