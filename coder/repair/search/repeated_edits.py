"""Repeated edits: one edit applied at every identical place of a function or file.

Mistakes are repeated by the same author, after S. Saha et al., "Harnessing Evolution for Multi-Hunk Program
Repair" (ICSE 2019).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from coder.core.ports import TextChange
from coder.python.source import PythonSource
from coder.repair.candidates import RepairCandidate

MAX_PLACES = 6
FUNCTION_FACTOR, FILE_FACTOR = 0.6, 0.45
"""Score factor of an edit at two places, relative to the better single one."""
FURTHER_PLACE_FACTOR = 0.45
"""Score factor for each further place."""
UNREPEATABLE_FAMILIES = frozenset(
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


def combine_repeated_edits(
    single: Iterable[RepairCandidate], sources: Mapping[str, PythonSource]
) -> Iterator[RepairCandidate]:
    """Yield combined edits for single-change edits that apply identically at several places."""
    groups: dict[tuple[str, str, str, str], dict[int, RepairCandidate]] = {}
    for candidate in single:
        if len(candidate.edit.changes) == 1 and candidate.edit.family not in UNREPEATABLE_FAMILIES:
            change = candidate.edit.changes[0]
            old = sources[candidate.edit.path].text[change.start : change.end]
            if old.strip():
                groups.setdefault(
                    (candidate.edit.path, candidate.edit.family, old, change.text), {}
                ).setdefault(change.start, candidate)
    for group in groups.values():
        everywhere = [group[start] for start in sorted(group)]
        by_place: dict[str, list[RepairCandidate]] = {}
        for candidate in everywhere:
            by_place.setdefault(candidate.place, []).append(candidate)
        for in_place in by_place.values():
            yield from _apply_together(in_place, FUNCTION_FACTOR)
        if len(by_place) > 1:
            yield from _apply_together(everywhere, FILE_FACTOR)


def _apply_together(places: list[RepairCandidate], factor: float) -> Iterator[RepairCandidate]:
    changes = [place.edit.changes[0] for place in places]
    if 2 <= len(places) <= MAX_PLACES and _are_disjoint(changes):
        best = max(places, key=lambda place: place.score)
        edit = best.edit.model_copy(
            update={"changes": tuple(changes), "summary": f"{best.edit.summary}, {len(places)} times"}
        )
        yield RepairCandidate(
            edit=edit, score=best.score * factor * FURTHER_PLACE_FACTOR ** (len(places) - 2), place=best.place
        )


def _are_disjoint(changes: list[TextChange]) -> bool:
    return all(change.end <= following.start for change, following in pairwise(changes))
