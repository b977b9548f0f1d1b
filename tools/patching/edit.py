"""Change the lines of a file by hunks that have found their places."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from coder.tools.patching.errors import PatchError
from coder.tools.patching.match import Placed
from coder.tools.patching.parse import Hunk, Line
from coder.tools.patching.source import Source


@dataclass(frozen=True, kw_only=True)
class Edit:
    """Replace the old lines from `start` up to `end` (indices) by new ones."""

    start: int
    end: int
    lines: tuple[Line, ...]
    knows_the_end: bool
    """The diff said somewhere in the hunk whether a line end follows the file's last line."""


def edits(placed: Sequence[Placed], path: str) -> tuple[Edit, ...]:
    """The edits of all hunks from top to bottom; one that is written twice counts once.

    Raises:
        PatchError: two hunks want different things in the same place.
    """
    found = [(edit, item.hunk) for item in placed for edit in _of_hunk(item)]
    found.sort(key=lambda pair: (pair[0].start, pair[0].end))
    kept: list[tuple[Edit, Hunk]] = []
    for edit, hunk in found:
        if kept and edit == kept[-1][0] and hunk.number != kept[-1][1].number:
            continue
        if kept and _collide(kept[-1][0], edit):
            raise PatchError(
                f"{path}: hunk {kept[-1][1].number} and hunk {hunk.number} change line {edit.start + 1} in different ways. "
                "Write that place once."
            )
        kept.append((edit, hunk))
    return tuple(edit for edit, _ in kept)


def _collide(above: Edit, below: Edit) -> bool:
    return below.start < above.end or (below.start == above.start and below.end == above.end)


def _of_hunk(placed: Placed) -> list[Edit]:
    """One edit for each run of changed lines between context lines."""
    knows = any(not line.ends for line in placed.hunk.lines)
    position = placed.at
    result = []
    for changed, group in groupby(placed.hunk.lines, key=lambda line: line.mark != " "):
        run = tuple(group)
        size = sum(line.mark != "+" for line in run)
        if changed:
            added = tuple(line for line in run if line.mark == "+")
            result.append(Edit(start=position, end=position + size, lines=added, knows_the_end=knows))
        position += size
    return result


def edited(source: Source, changes: Sequence[Edit]) -> Source:
    """The file after the edits. Line ends are the file's own, and so is a missing one at its end where the diff is silent on it."""
    lines, ends = list(source.lines), list(source.ends)
    for edit in reversed(changes):
        end = next((end for end in reversed(ends[max(0, edit.start - 1) : edit.end]) if end), source.end)
        lines[edit.start : edit.end] = [line.text.removesuffix("\r") for line in edit.lines]
        ends[edit.start : edit.end] = [end] * len(edit.lines)
    ends = [end or source.end for end in ends]
    if ends:
        ends[-1] = _last_end(source, changes, otherwise=ends[-1])
    return replace(source, lines=tuple(lines), ends=tuple(ends))


def _last_end(source: Source, changes: Sequence[Edit], *, otherwise: str) -> str:
    last = changes[-1] if changes else None
    if last is None or last.end < len(source.lines):
        return source.ends[-1] if source.ends else otherwise
    if last.lines and not last.lines[-1].ends:
        return ""
    open_ended = bool(source.ends) and not source.ends[-1]
    return "" if open_ended and last.lines and not last.knows_the_end else otherwise


def created(hunks: Sequence[Hunk], path: str) -> Source:
    """A new file's content: a blank line may have lost its +.

    Raises:
        PatchError: there are lines that are not added.
    """
    lines = [line for hunk in hunks for line in hunk.lines]
    if stray := next((line for line in lines if line.mark == "-" or (line.mark == " " and line.text.strip())), None):
        raise PatchError(f"{path} does not exist yet, so every line of it must start with '+', unlike {stray.mark + stray.text!r}.")
    end = "\r\n" if lines and all(line.text.endswith("\r") for line in lines) else "\n"
    texts = tuple(line.text.removesuffix("\r") if line.mark == "+" else "" for line in lines)
    ends = tuple(end if line.ends else "" for line in lines[-1:])
    return Source(lines=texts, ends=(end,) * (len(texts) - 1) + ends)
