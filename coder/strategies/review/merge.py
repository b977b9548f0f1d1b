"""Several changes of one text, brought together."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

Edit = tuple[int, int, tuple[str, ...]]
"""First and last line (from 0, the last one not included), and what stands there instead."""


def merged(before: str, afters: Sequence[str]) -> str | None:
    """The text with what each of `afters` changed in it; None where two of them changed the same place, each in its own way."""
    lines = before.splitlines(keepends=True)
    edits = sorted({edit for after in afters for edit in _edits(lines, after.splitlines(keepends=True))})
    if any(start < max(last, first + 1) for (first, last, _), (start, _, _) in pairwise(edits)):
        return None
    for first, last, instead in reversed(edits):
        lines[first:last] = instead
    return "".join(lines)


def _edits(before: Sequence[str], after: Sequence[str]) -> Iterator[Edit]:
    for tag, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield first, last, tuple(after[start:end])
