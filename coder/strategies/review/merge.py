"""Three-way merge of several changes of one text."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

LineEdit = tuple[int, int, tuple[str, ...]]
"""First and last line (from 0, end excluded), and their replacement."""


def merge_texts(before: str, afters: Sequence[str]) -> str | None:
    """Return the text with the changes of all `afters`; None if two of them conflict."""
    lines = before.splitlines(keepends=True)
    edits = sorted({edit for after in afters for edit in _edits(lines, after.splitlines(keepends=True))})
    if any(start < max(last, first + 1) for (first, last, _), (start, _, _) in pairwise(edits)):
        return None
    for first, last, replacement in reversed(edits):
        lines[first:last] = replacement
    return "".join(lines)


def _edits(before: Sequence[str], after: Sequence[str]) -> Iterator[LineEdit]:
    for tag, first, last, start, end in SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield first, last, tuple(after[start:end])
