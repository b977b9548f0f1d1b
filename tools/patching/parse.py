"""Turn the text of a diff into values: unidiff reads what the normaliser has made well-formed."""

from dataclasses import dataclass, replace

from coder.tools.patching.errors import PatchError
from coder.tools.patching.normalise import RawFile, RawHunk, normalise

MOST_HUNKS = 5_000


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a hunk, without its line end."""

    mark: str
    """A space, + or -."""
    text: str
    ends: bool = True
    """False: the diff says that no line end follows."""


@dataclass(frozen=True, kw_only=True)
class Hunk:
    number: int
    """From 1, within its file."""
    start: int
    """The line of the old file that the header names, from 1; 0 where it names none."""
    section: str
    lines: tuple[Line, ...]

    @property
    def old(self) -> tuple[Line, ...]:
        """What the file is said to hold here: context and removed lines."""
        return tuple(line for line in self.lines if line.mark != "+")

    @property
    def new(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.mark != "-")

    @property
    def changes(self) -> bool:
        return any(line.mark != " " for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """What is to happen to one file."""

    header: RawFile
    """The names and git's metadata, as written, without the hunks."""
    hunks: tuple[Hunk, ...]
    """Those that change something."""


def parse(text: str) -> tuple[FilePatch, ...]:
    """Read a unified diff out of a model's text.

    Raises:
        PatchError: there is none, or a line of it would be lost.
    """
    files = normalise(text)
    if (hunks := sum(len(file.hunks) for file in files)) > MOST_HUNKS:
        raise PatchError(f"The patch has {hunks:,} hunks; more than {MOST_HUNKS:,} are not taken at once.")
    return tuple(map(_file, files))


def _file(raw: RawFile) -> FilePatch:
    if raw.binary:
        raise PatchError(f"{raw.new or raw.old}: binary patches are not supported. Only text files can be changed.")
    hunks = _read(tuple(hunk for hunk in raw.hunks if hunk.lines))
    return FilePatch(header=replace(raw, hunks=()), hunks=tuple(hunk for hunk in hunks if hunk.changes))


def _read(raw: tuple[RawHunk, ...]) -> tuple[Hunk, ...]:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    text = "--- a/file\n+++ b/file\n" + "".join(map(_well_formed, raw))
    try:
        parsed = PatchSet(text)
    except UnidiffParseError as error:
        raise PatchError(f"The diff cannot be read: {error}. Send it again as a plain unified diff.") from None
    hunks = tuple(
        Hunk(number=number, start=hunk.source_start, section=given.section, lines=_lines([(line.line_type, line.value) for line in hunk]))
        for number, (hunk, given) in enumerate(zip(parsed[0] if raw else (), raw, strict=True), 1)
    )
    kept = [f"{line.mark}{line.text}" for hunk in hunks for line in hunk.lines if line.mark != " "]
    if kept != [line for hunk in raw for line in hunk.lines if line.startswith(("+", "-"))]:
        raise PatchError("The diff cannot be read without losing some of its + and - lines. Send it again as a plain unified diff.")
    return hunks


def _well_formed(hunk: RawHunk) -> str:
    old = sum(line.startswith((" ", "-")) for line in hunk.lines)
    new = sum(line.startswith((" ", "+")) for line in hunk.lines)
    return f"@@ -{hunk.start},{old} +{hunk.start},{new} @@\n" + "".join(f"{line}\n" for line in hunk.lines)


def _lines(pairs: list[tuple[str, str]]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for mark, value in pairs:
        if mark == "\\" and lines:
            lines[-1] = replace(lines[-1], ends=False)
        elif mark != "\\":
            lines.append(Line(mark=mark or " ", text=value.removesuffix("\n")))
    return tuple(lines)
