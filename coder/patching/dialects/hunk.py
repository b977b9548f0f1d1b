"""Hunks of a parsed diff: their lines, expected old lines, and runs of changed lines."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

from coder.patching.dialects.names import DEV_NULL
from coder.patching.dialects.raw import RawFile
from coder.patching.errors import PatchError


@dataclass(frozen=True, kw_only=True)
class HunkLine:
    """One line of a hunk, without its line end."""

    mark: str
    """A space: context; + or -: added or removed."""
    text: str
    ends: bool = True
    """False: the diff says that no line end follows."""


@dataclass(frozen=True, kw_only=True)
class ChangedRun:
    """Adjacent added or removed lines of a hunk; a removed line after an added one may begin another run."""

    old_index: int
    """Number of the hunk's old lines before it."""
    removed: tuple[HunkLine, ...]
    added: tuple[HunkLine, ...]

    @property
    def old_end(self) -> int:
        """Number of the hunk's old lines up to its end."""
        return self.old_index + len(self.removed)


@dataclass(frozen=True, kw_only=True)
class PatchHunk:
    """A hunk of one file's patch."""

    number: int
    """From 1, within its file."""
    start: int
    """The line of the old file in the header, from 1; 0 where there is none."""
    new_start: int = 0
    """The line of the new file in the header."""
    section: str
    """The header's text after the second @@; several lines name a class and a function in it."""
    lines: tuple[HunkLine, ...]
    tail: int = 0
    """Number of last lines that may be prose below the diff."""

    @cached_property
    def old_lines(self) -> tuple[HunkLine, ...]:
        """Old lines expected in the file: context and removed lines."""
        return tuple(line for line in self.lines if line.mark != "+")

    @cached_property
    def new_lines(self) -> tuple[HunkLine, ...]:
        """New lines: context and added lines."""
        return tuple(line for line in self.lines if line.mark != "-")

    @cached_property
    def runs(self) -> tuple[ChangedRun, ...]:
        """Runs of changed lines, in order."""
        runs: list[ChangedRun] = []
        run: list[HunkLine] = []
        before = 0
        for line in (*self.lines, HunkLine(mark=" ", text="")):
            if run and (
                line.mark not in "+-" or (line.mark == "-" and run[0].mark == "-" and run[-1].mark == "+")
            ):
                removed = tuple(run_line for run_line in run if run_line.mark == "-")
                runs.append(
                    ChangedRun(
                        old_index=before,
                        removed=removed,
                        added=tuple(run_line for run_line in run if run_line.mark == "+"),
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
        """Hash of the lines, independent of the header."""
        return hashlib.sha256(
            "\n".join(f"{line.mark}{line.text}" for line in self.lines).encode("utf-8", "replace")
        ).hexdigest()[:16]

    @property
    def without_tail(self) -> "PatchHunk":
        """The hunk without the lines that may be prose."""
        return replace(self, lines=self.lines[: len(self.lines) - self.tail], tail=0)


@dataclass(frozen=True, kw_only=True)
class FilePatch:
    """The patch of one file."""

    header: RawFile
    """The names and git's metadata, as written, without the hunks."""
    hunks: tuple[PatchHunk, ...]
    """Hunks that change something."""


def reverse_patch(patch: FilePatch) -> FilePatch:
    """Return the reversed patch.

    Raises:
        PatchError: it deletes a file without its old content.
    """
    header = patch.header
    if (header.deletes or header.new == DEV_NULL) and not patch.hunks:
        raise PatchError(
            f"{header.old}: the patch does not say what was in the file that it deletes, so "
            "it cannot be taken back."
        )
    reversed_header = replace(
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
    return FilePatch(header=reversed_header, hunks=hunks)
