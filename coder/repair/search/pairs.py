"""Repair of two faults at once: combine edits that each turn some failing tests green."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path

from coder.core.ports import Progress, Trials
from coder.repair.candidates import RepairCandidate, rank_candidates
from coder.repair.search.search import SearchState, search_candidates

MAX_TESTS, MAX_HALVES = 3, 16
"""Number of tests for which the other half is searched, and of edits of each half."""
MAX_TRIED = 2_500
SAME_EDIT_FACTOR = 3.0
"""Score factor of a pair in which both edits are the same."""


def search_pairs(
    trials: Trials,
    tree: Path,
    failing: Sequence[str],
    candidates: Sequence[RepairCandidate],
    red: Mapping[str, Sequence[RepairCandidate]],
    *,
    seconds: float,
    progress: Progress | None,
) -> SearchState:
    """Search for pairs of edits of one file, each of which fixes a part of the failures.

    `red` are the candidates by the first test that each of them leaves red. If that is the same for all, the
    other tests are searched on their own.
    """
    deadline = time.monotonic() + seconds
    total = SearchState()
    second_halves: list[Sequence[RepairCandidate]] = []
    first_halves, first = partial_fixes(red), _most_common_red(red)
    tests = (
        sorted(first_halves, key=lambda test: -first_halves[test][0].score)
        or [test for test in failing if test != first]
    )[:MAX_TESTS]
    for test in tests:
        seconds_each = (deadline - time.monotonic()) / (len(tests) + 1)
        partial = search_candidates(
            trials, tree, [test], candidates[:MAX_TRIED], seconds=max(seconds_each, 0.0), progress=progress
        )
        total = replace(total, tried=total.tried + partial.tried, seconds=total.seconds + partial.seconds)
        second_halves.append(partial.survivors[:MAX_HALVES])
    parts = (
        zip((first_halves[test][:MAX_HALVES] for test in tests), second_halves, strict=True)
        if first_halves
        else combinations(second_halves, 2)
    )
    pairs = [pair for some, others in parts for pair in _combine_pairs(some, others)]
    if not pairs:
        return total
    unique = rank_candidates({item.edit.changes: item for item in pairs}.values())
    return (
        search_candidates(
            trials, tree, failing, unique, seconds=max(deadline - time.monotonic(), 0.0), progress=progress
        )
        + total
    )


def partial_fixes(red: Mapping[str, Sequence[RepairCandidate]]) -> dict[str, Sequence[RepairCandidate]]:
    """Return candidates by the test that they leave red, without the test that is most often left red."""
    first = _most_common_red(red)
    return {test: left for test, left in red.items() if test != first}


def _most_common_red(red: Mapping[str, Sequence[RepairCandidate]]) -> str:
    return max(red, key=lambda test: len(red[test]), default="")


def _combine_pairs(some: Sequence[RepairCandidate], others: Sequence[RepairCandidate]) -> Iterator[RepairCandidate]:
    for left, right in product(some, others):
        changes = sorted((*left.edit.changes, *right.edit.changes), key=lambda change: change.start)
        if left.edit.path == right.edit.path and all(
            before.end <= after.start for before, after in pairwise(changes)
        ):
            first = min((left, right), key=lambda part: part.edit.changes[0].start)
            summary = f"{left.edit.summary}; {right.edit.summary}"
            guards = tuple(dict.fromkeys([*left.edit.guards, *right.edit.guards]))
            edit = first.edit.model_copy(
                update={"changes": tuple(changes), "summary": summary, "guards": guards}
            )
            score = min(left.score, right.score) * (SAME_EDIT_FACTOR if _are_alike(left, right) else 1.0)
            yield RepairCandidate(edit=edit, score=score, place=first.place)


def _are_alike(left: RepairCandidate, right: RepairCandidate) -> bool:
    """Tell whether two edits fix the same mistake."""
    return left.edit.family == right.edit.family and [change.text for change in left.edit.changes] == [
        change.text for change in right.edit.changes
    ]
