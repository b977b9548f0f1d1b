"""Decide which lines of a text are the body of one hunk."""

import re
from collections.abc import Callable, Sequence

from coder.patching.dialects.prose import PROSE

MARKS = (" ", "+", "-", "\\ ")
NO_NEWLINE = "\\ No newline at end of file"
SIGNATURE = re.compile(r"\d+\.\d+[.\w]*")
"""What `git format-patch` writes below its last line, `-- `: git's own version."""
BULLET = re.compile(r"- \w")
UNUSUAL_MARKS = {"\u00a0": " ", "\u2212": "-"}

Counts = tuple[int, int] | None
"""The old and the new length that a hunk's header claims."""

EndsAt = Callable[[int], int | None]
"""Whether the hunk ends above an index: None, no; 0, for certain; else unless the header counts so many further lines as its own."""


def read_body(
    lines: Sequence[str], start: int, *, counts: Counts = None, ends_at: EndsAt
) -> tuple[tuple[str, ...], int, int]:
    """The hunk's lines, each with its mark; how many of the last may be prose; and the index of the first line after it.

    An unmarked line between marked ones is context whose leading space was lost. `counts` decide only what cannot be told otherwise:
    whether `--- x` ends the hunk or removes the line `-- x`, and whether unmarked lines at the end are context. No line that starts with
    + or - is ever dropped.
    """
    index = start
    while index < len(lines) and not _ends(lines, index, body_start=start, counts=counts, ends_at=ends_at):
        index += 1
    body = [UNUSUAL_MARKS.get(line[:1], line[:1]) + line[1:] for line in lines[start:index]]
    marked = next(
        (position + 1 for position in range(len(body) - 1, -1, -1) if body[position].startswith(MARKS)), 0
    )
    told = next(
        (size for size in range(marked, len(body) + 1) if counts and _counts(body[:size]) == counts), 0
    )
    end = told or len(body)
    while end > marked and not told and not body[end - 1].strip():
        end -= 1
    tail = 0 if told else max(end - marked, _prose(body[:end], counts))
    return tuple(map(_marked, body[:end])), tail, index


def _prose(body: Sequence[str], counts: Counts) -> int:
    """How many lines below an empty line read like sentences and a list, though items of a list look like removed lines."""
    size = len(body)
    while size and (BULLET.match(body[size - 1]) or not body[size - 1].startswith(MARKS)):
        size -= 1
    empty = next((index for index in range(size, len(body)) if not body[index]), len(body))
    return 0 if _counts(body) == counts else len(body) - empty


def _marked(line: str) -> str:
    if line.startswith("\\ "):
        return NO_NEWLINE
    return line if line.startswith(MARKS) else f" {line}"


def _ends(lines: Sequence[str], index: int, *, body_start: int, counts: Counts, ends_at: EndsAt) -> bool:
    if lines[index].startswith(("@@", "diff --git ", PROSE)):
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
    """The old and the new length of a hunk with these lines."""
    return sum(not line.startswith(("+", "\\ ")) for line in body), sum(
        not line.startswith(("-", "\\ ")) for line in body
    )
