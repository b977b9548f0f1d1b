"""Measures of an edit's answers to calls: changed answers, accidental exceptions, loss of distinctions."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from coder.core.ports import CallComparison

PART_SEPARATOR = "\t"
"""Separator of the parts of an answer."""
EXAMPLE_PREFIX, AS_DOCUMENTED = ">>> ", "as documented"
"""Prefix of a documentation example among the calls, and the answer of one with the documented output."""
MIN_CALLS = 3
"""Number of calls of one function needed to conclude that all get the same answer."""
ACCIDENTAL_EXCEPTIONS = frozenset(
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
"""Exceptions that code raises by accident rather than on purpose."""


def changed_share(answers: Sequence[str], comparison: CallComparison) -> float:
    """Return the share of the unchanged code's answers that differ now.

    An answer may differ in some of its parts only.
    """
    pairs = [
        (before, after)
        for call, before, after in zip(comparison.calls, comparison.before, answers, strict=False)
        if not _is_example(call)
    ]
    return (
        sum(_difference(before.split(PART_SEPARATOR), after.split(PART_SEPARATOR)) for before, after in pairs)
        / len(pairs)
        if pairs
        else 0.0
    )


def accident_share(answers: Sequence[str]) -> float:
    """Return the share of the answers that are accidental exceptions."""
    return (
        sum(answer.split(PART_SEPARATOR)[0] in ACCIDENTAL_EXCEPTIONS for answer in answers) / len(answers)
        if answers
        else 0.0
    )


def contradiction_share(answers: Sequence[str], comparison: CallComparison) -> float:
    """Return the share of the documentation's examples with another output than documented."""
    example_answers = [
        answer for call, answer in zip(comparison.calls, answers, strict=False) if _is_example(call)
    ]
    return (
        sum(answer != AS_DOCUMENTED for answer in example_answers) / len(example_answers)
        if example_answers
        else 0.0
    )


def is_degenerate(answers: Sequence[str], comparison: CallComparison) -> bool:
    """Tell whether a function that gave different answers now gives a single one.

    An answer that is one of the arguments does not count.
    """
    places_by_function: dict[str, list[int]] = {}
    for place, call in enumerate(comparison.calls[: len(answers)]):
        places_by_function.setdefault(call.partition("(")[0], []).append(place)
    return any(
        len(places) >= MIN_CALLS
        and len(_distinct_results(comparison.before, places) - ACCIDENTAL_EXCEPTIONS) > 1
        and len(results := _distinct_results(answers, places)) == 1
        and not all(_has_argument(comparison.calls[place], result) for result in results for place in places)
        for places in places_by_function.values()
    )


def _has_argument(call: str, value: str) -> bool:
    return re.search(rf"[(=\s]{re.escape(value)}[,)]", call) is not None


def _is_example(call: str) -> bool:
    return call.startswith(EXAMPLE_PREFIX)


def _distinct_results(answers: Sequence[str], places: Sequence[int]) -> set[str]:
    return {answers[place].split(PART_SEPARATOR)[0] for place in places}


def _difference(parts: Sequence[str], other_parts: Sequence[str]) -> float:
    """Return the share of differing parts: result, side effects and output count the same."""
    differing = [part for part, other_part in zip_longest(parts, other_parts) if part != other_part]
    return len(differing) / max(len(parts), len(other_parts))
