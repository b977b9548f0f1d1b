"""Turn the text of a diff into values: unidiff reads what the normaliser has made well-formed."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from coder.patching.dialects.hunk import FilePatch, Hunk, Line
from coder.patching.dialects.normalize import normalise
from coder.patching.dialects.raw import RawFile, RawHunk
from coder.patching.errors import PatchError


def parse(text: str) -> tuple[FilePatch, ...]:
    """Read a diff out of a model's text.

    Raises:
        PatchError: there is none, or a line of it would be lost.
    """
    return tuple(map(_file, normalise(text)))


def _file(raw: RawFile) -> FilePatch:
    if raw.binary:
        raise PatchError(
            f"{raw.new or raw.old}: binary patches are not supported. Only text files can be changed."
        )
    hunks = _read(tuple(hunk for hunk in raw.hunks if hunk.lines))
    return FilePatch(header=replace(raw, hunks=()), hunks=tuple(hunk for hunk in hunks if hunk.runs))


def _read(raw: tuple[RawHunk, ...]) -> tuple[Hunk, ...]:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text = "--- a/file\n+++ b/file\n" + "".join(map(_well_formed, raw))
    try:
        parsed = PatchSet(text)
    except UnidiffParseError as error:
        raise PatchError(
            f"The diff cannot be read: {error}. Send it again as a plain unified diff."
        ) from None
    read = [_lines([(line.line_type, line.value) for line in hunk]) for hunk in (parsed[0] if raw else ())]
    kept = [f"{line.mark}{line.text}" for lines in read for line in lines if line.mark != " "]
    if kept != [line for hunk in raw for line in hunk.lines if line.startswith(("+", "-"))]:
        raise PatchError(
            "The diff cannot be read without losing some of its + and - lines. Send it again as a plain unified diff."
        )
    return tuple(
        Hunk(
            number=number,
            start=given.start,
            new_start=given.new_start,
            section=given.section,
            lines=(*_told_once(lines[: len(lines) - given.tail]), *lines[len(lines) - given.tail :]),
            tail=given.tail,
        )
        for number, (lines, given) in enumerate(zip(read, raw, strict=True), 1)
    )


def _well_formed(hunk: RawHunk) -> str:
    old = sum(line.startswith((" ", "-")) for line in hunk.lines)
    new = sum(line.startswith((" ", "+")) for line in hunk.lines)
    return f"@@ -{hunk.start},{old} +{hunk.start},{new} @@\n" + "".join(f"{line}\n" for line in hunk.lines)


def _lines(pairs: Sequence[tuple[str, str]]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for mark, value in pairs:
        if mark == "\\" and lines:
            lines[-1] = replace(lines[-1], ends=False)
        elif mark != "\\":
            lines.append(Line(mark=mark or " ", text=value.removesuffix("\n")))
    return tuple(lines)


def _told_once(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines, where those above or below a change that are removed only to be added again are context."""
    result: list[Line] = []
    for changed, group in groupby(lines, key=lambda line: line.mark != " "):
        run = tuple(group)
        result += _without_repeats(run) if changed else run
    return tuple(result)


def _without_repeats(run: tuple[Line, ...]) -> Sequence[Line]:
    removed, added = ([line for line in run if line.mark == mark] for mark in "-+")
    before, after = ([(line.text, line.ends) for line in lines] for lines in (removed, added))
    if not removed or not added or (before[0] != after[0] and before[-1] != after[-1]):
        return run
    size = min(len(removed), len(added))
    above = next((index for index in range(size) if before[index] != after[index]), size)
    below = next(
        (index for index in range(size - above) if before[-1 - index] != after[-1 - index]), size - above
    )
    kept = [
        [replace(line, mark=" ") for line in lines]
        for lines in (removed[:above], removed[len(removed) - below :])
    ]
    changed = [*removed[above : len(removed) - below], *added[above : len(added) - below]]
    return [*kept[0], *changed, *kept[1]]
