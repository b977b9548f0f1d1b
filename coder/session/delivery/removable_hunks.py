"""Hunks of a proven change that can be removed without a change of the verdict."""

from pathlib import PurePosixPath

from coder.core.values.hunk import Hunk
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Guarded
from coder.patching.git_hunks import blocks, hunks

WRITING = frozenset({".adoc", ".md", ".rst", ".txt"})
"""Suffixes of documentation files."""


def droppable(diff: str, guarded: Guarded | None, *, wording: bool = False) -> tuple[int, ...]:
    """Return the numbers of hunks whose removal no test notices.

    Hunks of tests are never among them. With `wording`, hunks of comments, docstrings and documentation are
    included; otherwise such lines keep a hunk.
    """
    unguarded_lines = (
        {(place.path, place.line) for place in guarded.unguarded if place.whole_hunk} if guarded else set()
    )
    wording_lines = set(guarded.wording) if guarded else set()
    numbers = []
    for number, hunk in enumerate(hunks(diff)):
        if _is_documentation(hunk):
            is_removable = wording
        else:
            places = {(hunk.path, line) for line in blocks(hunk)}
            is_removable = bool(places) and places <= (
                unguarded_lines | wording_lines if wording else unguarded_lines
            )
        if is_removable and not is_test_path(hunk.path):
            numbers.append(number)
    return tuple(numbers)


def place_of(hunk: Hunk) -> str:
    """Return the location of a hunk, such as `shop.py:12`."""
    return f"{hunk.path}:{next(blocks(hunk), 1)}"


def _is_documentation(hunk: Hunk) -> bool:
    return PurePosixPath(hunk.path).suffix in WRITING
