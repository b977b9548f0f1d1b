"""Parsing of diffs into values: unidiff reads what the normalizer has made well-formed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from coder.patching.dialects.hunk import FilePatch, HunkLine, PatchHunk
from coder.patching.dialects.normalize import split_diff
from coder.patching.dialects.raw import RawFile, RawHunk
from coder.patching.errors import PatchError


def parse_diff(text: str) -> tuple[FilePatch, ...]:
    """Parse the diff in a model's text.

    Raises:
        PatchError: there is none, or a line of it would be lost.
    """
    return tuple(map(_file, split_diff(text)))


def _file(raw: RawFile) -> FilePatch:
    if raw.binary:
        raise PatchError(
            f"{raw.new or raw.old}: binary patches are not supported. Only text files can be changed."
        )
    hunks = _read(tuple(hunk for hunk in raw.hunks if hunk.lines))
    return FilePatch(header=replace(raw, hunks=()), hunks=tuple(hunk for hunk in hunks if hunk.runs))


def _read(raw: tuple[RawHunk, ...]) -> tuple[PatchHunk, ...]:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text = "--- a/file\n+++ b/file\n" + "".join(map(_well_formed, raw))
    try:
        parsed = PatchSet(text)
    except UnidiffParseError as error:
        raise PatchError(
            f"The diff cannot be read: {error}. Send it again as a plain unified diff."
        ) from None
    line_groups = [
        _lines([(line.line_type, line.value) for line in hunk]) for hunk in (parsed[0] if raw else ())
    ]
    changed_lines = [f"{line.mark}{line.text}" for lines in line_groups for line in lines if line.mark != " "]
    if changed_lines != [line for hunk in raw for line in hunk.lines if line.startswith(("+", "-"))]:
        raise PatchError(
            "The diff cannot be read without losing some of its + and - lines. Send it again "
            "as a plain unified diff."
        )
    return tuple(
        PatchHunk(
            number=number,
            start=raw_hunk.start,
            new_start=raw_hunk.new_start,
            section=raw_hunk.section,
            lines=(*_unrepeat(lines[: len(lines) - raw_hunk.tail]), *lines[len(lines) - raw_hunk.tail :]),
            tail=raw_hunk.tail,
        )
        for number, (lines, raw_hunk) in enumerate(zip(line_groups, raw, strict=True), 1)
    )


def _well_formed(hunk: RawHunk) -> str:
    old = sum(line.startswith((" ", "-")) for line in hunk.lines)
    new = sum(line.startswith((" ", "+")) for line in hunk.lines)
    return f"@@ -{hunk.start},{old} +{hunk.start},{new} @@\n" + "".join(f"{line}\n" for line in hunk.lines)


def _lines(pairs: Sequence[tuple[str, str]]) -> tuple[HunkLine, ...]:
    lines: list[HunkLine] = []
    for mark, value in pairs:
        if mark == "\\" and lines:
            lines[-1] = replace(lines[-1], ends=False)
        elif mark != "\\":
            lines.append(HunkLine(mark=mark or " ", text=value.removesuffix("\n")))
    return tuple(lines)


def _unrepeat(lines: Sequence[HunkLine]) -> tuple[HunkLine, ...]:
    """Turn lines next to a change that are removed only to be added again into context."""
    result: list[HunkLine] = []
    for changed, group in groupby(lines, key=lambda line: line.mark != " "):
        run = tuple(group)
        result += _unrepeat_run(run) if changed else run
    return tuple(result)


def _unrepeat_run(run: tuple[HunkLine, ...]) -> Sequence[HunkLine]:
    removed, added = ([line for line in run if line.mark == mark] for mark in "-+")
    before, after = ([(line.text, line.ends) for line in lines] for lines in (removed, added))
    if not removed or not added or (before[0] != after[0] and before[-1] != after[-1]):
        return run
    size = min(len(removed), len(added))
    above = next((index for index in range(size) if before[index] != after[index]), size)
    below = next(
        (index for index in range(size - above) if before[-1 - index] != after[-1 - index]), size - above
    )
    context = [
        [replace(line, mark=" ") for line in lines]
        for lines in (removed[:above], removed[len(removed) - below :])
    ]
    changed = [*removed[above : len(removed) - below], *added[above : len(added) - below]]
    return [*context[0], *changed, *context[1]]
