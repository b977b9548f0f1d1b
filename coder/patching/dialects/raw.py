"""Files and hunks of a diff as written, not yet validated."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RawHunk:
    """One hunk, every line with its mark; the counts of its header are dropped."""

    start: int = 0
    """The line of the old file in the header; 0 where there is none."""
    new_start: int = 0
    section: str = ""
    """The header's text after the second @@."""
    lines: tuple[str, ...]
    tail: int = 0
    """Number of last lines that may be prose below the diff."""


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """One file's part of a diff, names as written but without timestamps and quotes."""

    old: str = ""
    new: str = ""
    renamed_from: str = ""
    renamed_to: str = ""
    mode: str = ""
    """git's octal mode after the change, where present."""
    old_mode: str = ""
    creates: bool = False
    deletes: bool = False
    binary: bool = False
    hints: tuple[str, ...] = ()
    """Words above the hunks that may name the file, nearest first, where no header does."""
    hunks: tuple[RawHunk, ...] = ()
