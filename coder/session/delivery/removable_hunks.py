"""Which hunks of a proven change change no verdict, so that it holds without them as well."""

from pathlib import PurePosixPath

from coder.core.values.hunk import Hunk
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Guarded
from coder.patching.git_hunks import blocks, hunks

WRITING = frozenset({".adoc", ".md", ".rst", ".txt"})
"""Files that are there to be read by people."""


def droppable(diff: str, guarded: Guarded | None, *, wording: bool = False) -> tuple[int, ...]:
    """The numbers of such hunks: no test notices when one of them is taken out.

    Tests are never among them. With `wording` hunks of comments, docstrings and documentation are as well; else such lines keep a hunk.
    """
    loose = (
        {(place.path, place.line) for place in guarded.unguarded if place.whole_hunk} if guarded else set()
    )
    words = set(guarded.wording) if guarded else set()
    found = []
    for number, hunk in enumerate(hunks(diff)):
        if _is_writing(hunk):
            idle = wording
        else:
            places = {(hunk.path, line) for line in blocks(hunk)}
            idle = bool(places) and places <= (loose | words if wording else loose)
        if idle and not is_test_path(hunk.path):
            found.append(number)
    return tuple(found)


def place_of(hunk: Hunk) -> str:
    """Such as `shop.py:12`."""
    return f"{hunk.path}:{next(blocks(hunk), 1)}"


def _is_writing(hunk: Hunk) -> bool:
    return PurePosixPath(hunk.path).suffix in WRITING
