"""Two faults at once: what turns one failing test green is put together with what turns another one green."""

import time
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from pathlib import Path

from coder.core.ports import Progress
from coder.core.trials import Trials
from coder.repair.candidates import Candidate, ranked
from coder.repair.search import Search, search

MOST_TESTS, MOST_PARTS = 3, 8
"""Failing tests that are looked at by themselves, and edits for each of them."""
MOST_TRIED = 2_500


def search_pairs(
    trials: Trials, tree: Path, failing: Sequence[str], candidates: Sequence[Candidate], *, seconds: float, progress: Progress | None
) -> Search:
    """Search for pairs of edits of one file, each of which mends a part of what fails; empty where one test alone fails."""
    deadline = time.monotonic() + seconds
    parts: list[list[Candidate]] = []
    tests = failing[:MOST_TESTS] if len(failing) > 1 else ()
    for test in tests:
        left = (deadline - time.monotonic()) / (len(tests) + 1)
        found = search(trials, tree, [test], candidates[:MOST_TRIED], seconds=max(left, 0.0), progress=progress)
        parts.append(found.survivors[:MOST_PARTS])
    pairs = ranked({one.edit.changes: one for one in _pairs(parts)}.values())
    if not pairs:
        return Search()
    return search(trials, tree, failing, pairs, seconds=max(deadline - time.monotonic(), 0.0), progress=progress)


def _pairs(parts: Sequence[Sequence[Candidate]]) -> Iterator[Candidate]:
    for mending, others in combinations(parts, 2):
        for one, other in product(mending, others):
            changes = sorted((*one.edit.changes, *other.edit.changes), key=lambda change: change.start)
            if one.edit.path == other.edit.path and all(before.end <= after.start for before, after in pairwise(changes)):
                first = min((one, other), key=lambda part: part.edit.changes[0].start)
                summary = f"{one.edit.summary}; {other.edit.summary}"
                guards = tuple(dict.fromkeys([*one.edit.guards, *other.edit.guards]))
                edit = first.edit.model_copy(update={"changes": tuple(changes), "summary": summary, "guards": guards})
                yield Candidate(edit=edit, score=min(one.score, other.score), place=first.place)
