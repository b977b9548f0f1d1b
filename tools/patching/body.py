"""Decide which lines of a text are the body of one hunk."""

import re
from collections.abc import Callable, Sequence

MARKS = (" ", "+", "-", "\\ ")
NO_NEWLINE = "\\ No newline at end of file"
SIGNATURE = re.compile(r"\d+\.\d+[.\w]*")
"""What `git format-patch` writes below its last line, `-- `: git's own version."""


def read_body(
    lines: Sequence[str], start: int, *, counts: tuple[int, int] | None, header_at: Callable[[int], int]
) -> tuple[tuple[str, ...], int]:
    """The hunk's lines, each with its mark, and the index of the first line after it.

    An unmarked line between marked ones is context whose leading space was lost. `counts`, the old and new lengths that the hunk's
    header claims, decide only what cannot be told otherwise: whether `--- x` ends the hunk or removes the line `-- x`, and whether
    unmarked lines at the end are context or prose. No line that starts with + or - is ever dropped. `header_at` says how many lines
    of a file header stand at an index.
    """
    index = start
    while index < len(lines) and not _ends(lines, index, body_start=start, counts=counts, header_at=header_at):
        index += 1
    body = lines[start:index]
    marked = next((position + 1 for position in range(len(body) - 1, -1, -1) if body[position].startswith(MARKS)), 0)
    end = next((size for size in range(marked, len(body) + 1) if counts and _counts(body[:size]) == counts), marked)
    return tuple(map(_marked, body[:end])), index


def _marked(line: str) -> str:
    if line.startswith("\\ "):
        return NO_NEWLINE
    return line if line.startswith(MARKS) else f" {line}"


def _ends(lines: Sequence[str], index: int, *, body_start: int, counts: tuple[int, int] | None, header_at: Callable[[int], int]) -> bool:
    if lines[index].startswith(("@@", "diff --git ")):
        return True
    if lines[index].rstrip() == "--" and index + 1 < len(lines) and SIGNATURE.fullmatch(lines[index + 1].strip()):
        return True
    size = header_at(index)
    return size > 0 and _counts(lines[body_start : index + size]) != counts


def _counts(body: Sequence[str]) -> tuple[int, int]:
    """The old and the new length of a hunk with these lines."""
    return sum(not line.startswith(("+", "\\ ")) for line in body), sum(not line.startswith(("-", "\\ ")) for line in body)
