"""Recognition of the lines that form the body of one hunk."""

import re
from collections.abc import Callable, Sequence

from coder.patching.dialects.prose import PROSE_MARK

MARKS = (" ", "+", "-", "\\ ")
NO_NEWLINE = "\\ No newline at end of file"
SIGNATURE = re.compile(r"\d+\.\d+[.\w]*")
"""The git version that `git format-patch` writes below its last line, `-- `."""
BULLET = re.compile(r"- \w")
UNUSUAL_MARKS = {"\u00a0": " ", "\u2212": "-"}

Counts = tuple[int, int] | None
"""The old and the new length in a hunk's header."""

EndsAt = Callable[[int], int | None]
"""Tells whether the hunk ends above an index: None, no; 0, certainly; n, unless the header's counts include n
further lines."""


def read_body(
    lines: Sequence[str], start: int, *, counts: Counts = None, ends_at: EndsAt
) -> tuple[tuple[str, ...], int, int]:
    """Return the marked lines of the hunk, how many of the last may be prose, and the next index.

    An unmarked line between marked ones is context whose leading space was lost. `counts` only settle
    ambiguities: whether `--- x` ends the hunk or removes the line `-- x`, and whether unmarked lines at the
    end are context. No line that starts with + or - is ever dropped.
    """
    index = start
    while index < len(lines) and not _is_end(lines, index, body_start=start, counts=counts, ends_at=ends_at):
        index += 1
    body = [UNUSUAL_MARKS.get(line[:1], line[:1]) + line[1:] for line in lines[start:index]]
    marked_size = next(
        (position + 1 for position in range(len(body) - 1, -1, -1) if body[position].startswith(MARKS)), 0
    )
    exact_size = next(
        (size for size in range(marked_size, len(body) + 1) if counts and _counts(body[:size]) == counts), 0
    )
    end = exact_size or len(body)
    while end > marked_size and not exact_size and not body[end - 1].strip():
        end -= 1
    tail = 0 if exact_size else max(end - marked_size, _prose_length(body[:end], counts))
    return tuple(map(_add_mark, body[:end])), tail, index


def _prose_length(body: Sequence[str], counts: Counts) -> int:
    """Count the lines below an empty line that read like sentences and a list.

    List items look like removed lines.
    """
    size = len(body)
    while size and (BULLET.match(body[size - 1]) or not body[size - 1].startswith(MARKS)):
        size -= 1
    empty = next((index for index in range(size, len(body)) if not body[index]), len(body))
    return 0 if _counts(body) == counts else len(body) - empty


def _add_mark(line: str) -> str:
    if line.startswith("\\ "):
        return NO_NEWLINE
    return line if line.startswith(MARKS) else f" {line}"


def _is_end(lines: Sequence[str], index: int, *, body_start: int, counts: Counts, ends_at: EndsAt) -> bool:
    if lines[index].startswith(("@@", "diff --git ", PROSE_MARK)):
        return True
    if (
        lines[index].rstrip() == "--"
        and index + 1 < len(lines)
        and SIGNATURE.fullmatch(lines[index + 1].strip())
    ):
        return True
    size = ends_at(index)
    return size == 0 or (size is not None and _counts(lines[body_start : index + size]) != counts)


def _counts(body: Sequence[str]) -> tuple[int, int]:
    """Return the old and the new length of a hunk with these lines."""
    return sum(not line.startswith(("+", "\\ ")) for line in body), sum(
        not line.startswith(("-", "\\ ")) for line in body
    )
