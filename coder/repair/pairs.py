"""Two faults at once: what turns some failing tests green is put together with what turns the next one green."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

from coder.core.ports import Progress
from coder.core.trials import Trials
from coder.repair.candidates import Candidate, ranked
from coder.repair.search import Search, search

MOST_TESTS, MOST_PARTS = 3, 8
"""Tests of which the other half is looked for, and edits of each half."""
MOST_TRIED = 2_500


def search_pairs(
    trials: Trials,
    tree: Path,
    failing: Sequence[str],
    candidates: Sequence[Candidate],
    halves: Mapping[str, Sequence[Candidate]],
    *,
    seconds: float,
    progress: Progress | None,
) -> Search:
    """Search for pairs of edits of one file, each of which mends a part of what fails.

    `halves` are the edits that mended some test, by the test that they left red.
    """
    deadline = time.monotonic() + seconds
    found = Search()
    pairs: list[Candidate] = []
    tests = sorted(halves, key=lambda test: -halves[test][0].score)[:MOST_TESTS]
    for test in tests:
        left = (deadline - time.monotonic()) / (len(tests) + 1)
        others = search(trials, tree, [test], candidates[:MOST_TRIED], seconds=max(left, 0.0), progress=progress)
        found = replace(found, tried=found.tried + others.tried, seconds=found.seconds + others.seconds)
        pairs += _pairs(halves[test][:MOST_PARTS], others.survivors[:MOST_PARTS])
    if not pairs:
        return found
    unique = ranked({one.edit.changes: one for one in pairs}.values())
    return search(trials, tree, failing, unique, seconds=max(deadline - time.monotonic(), 0.0), progress=progress) + found


def halves(found: Search) -> dict[str, list[Candidate]]:
    """Of what the search left red: by the test, what had turned others green before it."""
    unchanged = max(found.red, key=lambda test: len(found.red[test]), default="")
    return {test: left for test, left in found.red.items() if test != unchanged}


def _pairs(some: Sequence[Candidate], others: Sequence[Candidate]) -> Iterator[Candidate]:
    for one, other in product(some, others):
        changes = sorted((*one.edit.changes, *other.edit.changes), key=lambda change: change.start)
        if one.edit.path == other.edit.path and all(before.end <= after.start for before, after in pairwise(changes)):
            first = min((one, other), key=lambda part: part.edit.changes[0].start)
            summary = f"{one.edit.summary}; {other.edit.summary}"
            guards = tuple(dict.fromkeys([*one.edit.guards, *other.edit.guards]))
            edit = first.edit.model_copy(update={"changes": tuple(changes), "summary": summary, "guards": guards})
            yield Candidate(edit=edit, score=min(one.score, other.score), place=first.place)
