"""The same mistake made more than once: an edit carried out at every place of its function, or its file, that reads the same.

What repeats is what a hand repeats, after S. Saha et al., "Harnessing Evolution for Multi-Hunk Program Repair" (ICSE 2019).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from coder.core.ports.repair import Change
from coder.python.source import Source
from coder.repair.candidates import Candidate

MOST_PLACES = 6
IN_FUNCTION, IN_FILE = 0.6, 0.45
"""What the edit of two places is worth against that of the likelier one."""
FURTHER = 0.45
"""What it is worth for each place more."""
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
"""Families whose edits say nothing about another place."""


def repeated(made: Iterable[Candidate], sources: Mapping[str, Source]) -> Iterator[Candidate]:
    """For edits of one change that are made alike at several places: all of these in one edit."""
    groups: dict[tuple[str, str, str, str], dict[int, Candidate]] = {}
    for item in made:
        if len(item.edit.changes) == 1 and item.edit.family not in ALONE:
            change = item.edit.changes[0]
            old = sources[item.edit.path].text[change.start : change.end]
            if old.strip():
                groups.setdefault((item.edit.path, item.edit.family, old, change.text), {}).setdefault(
                    change.start, item
                )
    for group in groups.values():
        everywhere = [group[start] for start in sorted(group)]
        by_place: dict[str, list[Candidate]] = {}
        for item in everywhere:
            by_place.setdefault(item.place, []).append(item)
        for inside in by_place.values():
            yield from _together(inside, IN_FUNCTION)
        if len(by_place) > 1:
            yield from _together(everywhere, IN_FILE)


def _together(places: list[Candidate], worth: float) -> Iterator[Candidate]:
    changes = [place.edit.changes[0] for place in places]
    if 2 <= len(places) <= MOST_PLACES and _apart(changes):
        best = max(places, key=lambda place: place.score)
        edit = best.edit.model_copy(
            update={"changes": tuple(changes), "summary": f"{best.edit.summary}, {len(places)} times"}
        )
        yield Candidate(edit=edit, score=best.score * worth * FURTHER ** (len(places) - 2), place=best.place)


def _apart(changes: list[Change]) -> bool:
    return all(one.end <= other.start for one, other in pairwise(changes))
