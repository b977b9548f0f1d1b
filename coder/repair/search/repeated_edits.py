"""Repeated edits: one edit applied at every identical place of a function or file.

Mistakes are repeated by the same author, after S. Saha et al., "Harnessing Evolution for Multi-Hunk Program
Repair" (ICSE 2019).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from coder.core.ports.repair import Change
from coder.python.source import Source
from coder.repair.candidates import Candidate

MOST_PLACES = 6
IN_FUNCTION, IN_FILE = 0.6, 0.45
"""Score factor of an edit at two places, relative to the better single one."""
FURTHER = 0.45
"""Score factor for each further place."""
ALONE = frozenset(
    {
        "deletion",
        "copied",
        "uncalled",
        "inserted",
        "inserted_guard",
        "statement_order",
        "indentation",
        "dropped_guard",
    }
)
"""Families whose edits do not carry over to other places."""


def repeated(single: Iterable[Candidate], sources: Mapping[str, Source]) -> Iterator[Candidate]:
    """Yield combined edits for single-change edits that apply identically at several places."""
    groups: dict[tuple[str, str, str, str], dict[int, Candidate]] = {}
    for candidate in single:
        if len(candidate.edit.changes) == 1 and candidate.edit.family not in ALONE:
            change = candidate.edit.changes[0]
            old = sources[candidate.edit.path].text[change.start : change.end]
            if old.strip():
                groups.setdefault(
                    (candidate.edit.path, candidate.edit.family, old, change.text), {}
                ).setdefault(change.start, candidate)
    for group in groups.values():
        everywhere = [group[start] for start in sorted(group)]
        by_place: dict[str, list[Candidate]] = {}
        for candidate in everywhere:
            by_place.setdefault(candidate.place, []).append(candidate)
        for in_place in by_place.values():
            yield from _combine(in_place, IN_FUNCTION)
        if len(by_place) > 1:
            yield from _combine(everywhere, IN_FILE)


def _combine(places: list[Candidate], factor: float) -> Iterator[Candidate]:
    changes = [place.edit.changes[0] for place in places]
    if 2 <= len(places) <= MOST_PLACES and _are_disjoint(changes):
        best = max(places, key=lambda place: place.score)
        edit = best.edit.model_copy(
            update={"changes": tuple(changes), "summary": f"{best.edit.summary}, {len(places)} times"}
        )
        yield Candidate(edit=edit, score=best.score * factor * FURTHER ** (len(places) - 2), place=best.place)


def _are_disjoint(changes: list[Change]) -> bool:
    return all(change.end <= following.start for change, following in pairwise(changes))
