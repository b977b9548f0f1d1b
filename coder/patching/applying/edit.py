"""Edits of a file's lines from hunks that were located in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coder.patching.applying.restyle import learn_style, restyle_run
from coder.patching.applying.source import TextFile
from coder.patching.dialects.hunk import HunkLine, PatchHunk
from coder.patching.errors import PatchError
from coder.patching.matching.match import Placement


@dataclass(frozen=True, kw_only=True)
class HunkEdit:
    """Replace the old lines from `start` up to `end` (indices) by new ones."""

    start: int
    end: int
    lines: tuple[HunkLine, ...]
    knows_the_end: bool
    """The diff states somewhere in the hunk whether a line end follows the file's last line."""


def edits_of_hunks(placed: Sequence[Placement], path: str) -> tuple[HunkEdit, ...]:
    """Return the edits of all hunks from top to bottom; duplicates count once.

    Raises:
        PatchError: two hunks change the same place differently, or the indentation of a hunk cannot be
        determined.
    """
    pairs = [(edit, placement.hunk) for placement in placed for edit in _edits_of_hunk(placement, path)]
    pairs.sort(key=lambda pair: (pair[0].start, pair[0].end))
    accepted: list[tuple[HunkEdit, PatchHunk]] = []
    for edit, hunk in pairs:
        if accepted and edit == accepted[-1][0] and hunk.number != accepted[-1][1].number:
            continue
        if accepted and _collide(accepted[-1][0], edit):
            raise PatchError(
                f"{path}: hunk {accepted[-1][1].number} and hunk {hunk.number} change line "
                f"{edit.start + 1} in different ways. "
                "Write that place once."
            )
        accepted.append((edit, hunk))
    return tuple(edit for edit, _ in accepted)


def _collide(above: HunkEdit, below: HunkEdit) -> bool:
    return below.start < above.end or (below.start == above.start and below.end == above.end)


def _edits_of_hunk(placement: Placement, path: str) -> list[HunkEdit]:
    """Return one edit for each run of changed lines between context lines."""
    hunk, style = placement.hunk, learn_style(placement.pairs)
    knows_the_end = any(not line.ends for line in hunk.lines)
    result = []
    for run, spot in zip(hunk.runs, placement.spots, strict=True):
        added = restyle_run(run, style) if style else None
        if added is None:
            raise PatchError(
                f"{path}, hunk {hunk.number}: its lines are indented in other ways than those of "
                "the file, so how far to indent what it "
                f"adds at line {spot + 1} is unknown. Copy context and removed lines from the "
                "file with their indentation."
            )
        result.append(
            HunkEdit(start=spot, end=spot + len(run.removed), lines=added, knows_the_end=knows_the_end)
        )
    return result


def apply_edits(source: TextFile, changes: Sequence[HunkEdit]) -> TextFile:
    """Apply edits to a file.

    Line ends are the file's own; so is a missing one at its end where the diff does not state otherwise.
    """
    lines, ends = list(source.lines), list(source.ends)
    for edit in reversed(changes):
        end = next(
            (end for end in reversed(ends[max(0, edit.start - 1) : edit.end]) if end), source.default_line_end
        )
        lines[edit.start : edit.end] = [line.text.removesuffix("\r") for line in edit.lines]
        ends[edit.start : edit.end] = [end] * len(edit.lines)
    ends = [end or source.default_line_end for end in ends]
    if ends:
        ends[-1] = _last_end(source, changes, otherwise=ends[-1])
    return replace(source, lines=tuple(lines), ends=tuple(ends))


def _last_end(source: TextFile, changes: Sequence[HunkEdit], *, otherwise: str) -> str:
    last = changes[-1] if changes else None
    if last is None or last.end < len(source.lines):
        return source.ends[-1] if source.ends else otherwise
    if last.lines and not last.lines[-1].ends:
        return ""
    open_ended = bool(source.ends) and not source.ends[-1]
    return "" if open_ended and last.lines and not last.knows_the_end else otherwise


def new_file_source(hunks: Sequence[PatchHunk], path: str) -> TextFile:
    """Return a new file's content; tolerate blank lines without a + and a stray space after each +.

    Raises:
        PatchError: there are lines that are not added.
    """
    lines = [
        line for hunk in {hunk.lines: hunk for hunk in hunks}.values() for line in hunk.without_tail.lines
    ]
    if stray := next(
        (line for line in lines if line.mark == "-" or (line.mark == " " and line.text.strip())), None
    ):
        raise PatchError(
            f"{path} does not exist yet, so every line of it must start with '+', unlike "
            f"{stray.mark + stray.text!r}."
        )
    end = "\r\n" if lines and all(line.text.endswith("\r") for line in lines) else "\n"
    texts = [line.text.removesuffix("\r") if line.mark == "+" else "" for line in lines]
    if (
        path.endswith(".py")
        and all(text[:1] in ("", " ") for text in texts)
        and any(text[1:2].strip() for text in texts)
    ):
        texts = [text[1:] for text in texts]
    ends = tuple(end if line.ends else "" for line in lines[-1:])
    return TextFile(lines=tuple(texts), ends=(end,) * (len(texts) - 1) + ends)
