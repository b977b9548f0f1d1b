"""Two faults at once: what turns some failing tests green is put together with what turns the next one green."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path

from coder.core.ports.repair import Trials
from coder.core.ports.sandbox import Progress
from coder.repair.candidates import Candidate, ranked
from coder.repair.search.search import Search, search

MOST_TESTS, MOST_PARTS = 3, 16
"""Tests of which the other half is looked for, and edits of each half."""
MOST_TRIED = 2_500
REPEATED = 3.0
"""What it speaks for a pair that both mistakes are the same."""


def search_pairs(
    trials: Trials,
    tree: Path,
    failing: Sequence[str],
    candidates: Sequence[Candidate],
    red: Mapping[str, Sequence[Candidate]],
    *,
    seconds: float,
    progress: Progress | None,
) -> Search:
    """Search for pairs of edits of one file, each of which mends a part of what fails.

    `red` are the candidates by the first test that each of them leaves red. Where that is the same of all, the others are looked at by
    themselves.
    """
    deadline = time.monotonic() + seconds
    found = Search()
    mending: list[Sequence[Candidate]] = []
    known, first = halves(red), _first(red)
    tests = (
        sorted(known, key=lambda test: -known[test][0].score) or [test for test in failing if test != first]
    )[:MOST_TESTS]
    for test in tests:
        left = (deadline - time.monotonic()) / (len(tests) + 1)
        one = search(trials, tree, [test], candidates[:MOST_TRIED], seconds=max(left, 0.0), progress=progress)
        found = replace(found, tried=found.tried + one.tried, seconds=found.seconds + one.seconds)
        mending.append(one.survivors[:MOST_PARTS])
    parts = (
        zip((known[test][:MOST_PARTS] for test in tests), mending, strict=True)
        if known
        else combinations(mending, 2)
    )
    pairs = [pair for some, others in parts for pair in _pairs(some, others)]
    if not pairs:
        return found
    unique = ranked({item.edit.changes: item for item in pairs}.values())
    return (
        search(
            trials, tree, failing, unique, seconds=max(deadline - time.monotonic(), 0.0), progress=progress
        )
        + found
    )


def halves(red: Mapping[str, Sequence[Candidate]]) -> dict[str, Sequence[Candidate]]:
    """What had turned other tests green, by the test that it left red: all but those of the test that is mostly left red."""
    first = _first(red)
    return {test: left for test, left in red.items() if test != first}


def _first(red: Mapping[str, Sequence[Candidate]]) -> str:
    return max(red, key=lambda test: len(red[test]), default="")


def _pairs(some: Sequence[Candidate], others: Sequence[Candidate]) -> Iterator[Candidate]:
    for one, other in product(some, others):
        changes = sorted((*one.edit.changes, *other.edit.changes), key=lambda change: change.start)
        if one.edit.path == other.edit.path and all(
            before.end <= after.start for before, after in pairwise(changes)
        ):
            first = min((one, other), key=lambda part: part.edit.changes[0].start)
            summary = f"{one.edit.summary}; {other.edit.summary}"
            guards = tuple(dict.fromkeys([*one.edit.guards, *other.edit.guards]))
            edit = first.edit.model_copy(
                update={"changes": tuple(changes), "summary": summary, "guards": guards}
            )
            score = min(one.score, other.score) * (REPEATED if _alike(one, other) else 1.0)
            yield Candidate(edit=edit, score=score, place=first.place)


def _alike(one: Candidate, other: Candidate) -> bool:
    """Is it the same mistake, made twice?"""
    return one.edit.family == other.edit.family and [change.text for change in one.edit.changes] == [
        change.text for change in other.edit.changes
    ]
