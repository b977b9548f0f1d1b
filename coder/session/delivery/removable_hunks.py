"""Hunks of a proven change that can be removed without a change of the verdict."""

from pathlib import PurePosixPath

from coder.core.values.hunk import Hunk
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import MutationReport
from coder.patching.git_hunks import changed_line_starts, split_git_diff

DOCUMENTATION_SUFFIXES = frozenset({".adoc", ".md", ".rst", ".txt"})
"""Suffixes of documentation files."""


def removable_hunk_numbers(
    diff: str, guarded: MutationReport | None, *, wording: bool = False
) -> tuple[int, ...]:
    """Return the numbers of hunks whose removal no test notices.

    Hunks of tests are never among them. With `wording`, hunks of comments, docstrings and documentation are
    included; otherwise such lines keep a hunk.
    """
    unguarded_lines = (
        {(place.path, place.line) for place in guarded.unguarded if place.whole_hunk} if guarded else set()
    )
    wording_lines = set(guarded.wording) if guarded else set()
    numbers = []
    for number, hunk in enumerate(split_git_diff(diff)):
        if _is_documentation(hunk):
            is_removable = wording
        else:
            places = {(hunk.path, line) for line in changed_line_starts(hunk)}
            is_removable = bool(places) and places <= (
                unguarded_lines | wording_lines if wording else unguarded_lines
            )
        if is_removable and not is_test_path(hunk.path):
            numbers.append(number)
    return tuple(numbers)


def hunk_location(hunk: Hunk) -> str:
    """Return the location of a hunk, such as `shop.py:12`."""
    return f"{hunk.path}:{next(changed_line_starts(hunk), 1)}"


def _is_documentation(hunk: Hunk) -> bool:
    return PurePosixPath(hunk.path).suffix in DOCUMENTATION_SUFFIXES
