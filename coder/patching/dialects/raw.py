"""A diff as written, split into files and hunks but not yet believed."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RawHunk:
    """One hunk, every line with its mark; the counts of its header are forgotten."""

    start: int = 0
    """The line of the old file that the header names; 0 where it names none."""
    new_start: int = 0
    section: str = ""
    """What the header says after the second @@."""
    lines: tuple[str, ...]
    tail: int = 0
    """So many of its last lines may be prose below the diff."""


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """One file's part of a diff, names as written but without timestamps and quotes."""

    old: str = ""
    new: str = ""
    renamed_from: str = ""
    renamed_to: str = ""
    mode: str = ""
    """git's octal mode after the change, where given."""
    old_mode: str = ""
    creates: bool = False
    deletes: bool = False
    binary: bool = False
    hints: tuple[str, ...] = ()
    """Words above the hunks that may name the file, nearest first, where no header does."""
    hunks: tuple[RawHunk, ...] = ()
