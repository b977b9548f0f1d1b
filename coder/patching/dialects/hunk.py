"""A hunk as a value: its lines, what it claims to find in the file, and the runs of lines that it changes."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

from coder.patching.dialects.names import NOWHERE
from coder.patching.dialects.raw import RawFile
from coder.patching.errors import PatchError


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a hunk, without its line end."""

    mark: str
    """A space: context; + or -: added or removed."""
    text: str
    ends: bool = True
    """False: the diff says that no line end follows."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Neighbouring lines of a hunk that are added or removed; after an added line, a removed one may begin another run."""

    old_index: int
    """How many of the hunk's old lines stand before it."""
    removed: tuple[Line, ...]
    added: tuple[Line, ...]

    @property
    def end(self) -> int:
        """How many of the hunk's old lines stand before what follows it."""
        return self.old_index + len(self.removed)


@dataclass(frozen=True, kw_only=True)
class Hunk:
    number: int
    """From 1, within its file."""
    start: int
    """The line of the old file that the header names, from 1; 0 where it names none."""
    new_start: int = 0
    """The same of the new file."""
    section: str
    """What the header says after the second @@; several lines name a class and a function in it."""
    lines: tuple[Line, ...]
    tail: int = 0
    """So many of its last lines may be prose below the diff."""

    @cached_property
    def old(self) -> tuple[Line, ...]:
        """What the file is said to hold here: context and removed lines."""
        return tuple(line for line in self.lines if line.mark != "+")

    @cached_property
    def new(self) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.mark != "-")

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        runs: list[Run] = []
        run: list[Line] = []
        before = 0
        for line in (*self.lines, Line(mark=" ", text="")):
            if run and (
                line.mark not in "+-" or (line.mark == "-" and run[0].mark == "-" and run[-1].mark == "+")
            ):
                removed = tuple(each for each in run if each.mark == "-")
                runs.append(
                    Run(
                        old_index=before,
                        removed=removed,
                        added=tuple(each for each in run if each.mark == "+"),
                    )
                )
                before += len(removed)
                run = []
            if line.mark in "+-":
                run.append(line)
            else:
                before += 1
        return tuple(runs)

    @property
    def fingerprint(self) -> str:
        """The same for the same lines, whatever the header says."""
        return hashlib.sha256(
            "\n".join(f"{line.mark}{line.text}" for line in self.lines).encode("utf-8", "replace")
        ).hexdigest()[:16]

    @property
    def without_tail(self) -> "Hunk":
        return replace(self, lines=self.lines[: len(self.lines) - self.tail], tail=0)


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """What is to happen to one file."""

    header: RawFile
    """The names and git's metadata, as written, without the hunks."""
    hunks: tuple[Hunk, ...]
    """Those that change something."""


def reverse(patch: FilePatch) -> FilePatch:
    """The patch that takes this one back.

    Raises:
        PatchError: it deletes a file without saying what was in it.
    """
    header = patch.header
    if (header.deletes or header.new == NOWHERE) and not patch.hunks:
        raise PatchError(
            f"{header.old}: the patch does not say what was in the file that it deletes, so it cannot be taken back."
        )
    turned = replace(
        header,
        old=header.new,
        new=header.old,
        renamed_from=header.renamed_to,
        renamed_to=header.renamed_from,
        mode=header.old_mode,
        old_mode=header.mode,
        creates=header.deletes,
        deletes=header.creates,
    )
    marks = {"+": "-", "-": "+"}
    hunks = tuple(
        replace(
            hunk,
            start=hunk.new_start,
            new_start=hunk.start,
            lines=tuple(replace(line, mark=marks.get(line.mark, line.mark)) for line in hunk.lines),
        )
        for hunk in patch.hunks
    )
    return FilePatch(header=turned, hunks=hunks)
