"""Hunks of a git diff."""

import re

from coder.core.values.base import EventValue, Value

_NEW_RANGE = re.compile(r"@@ -\S+ \+(\d+)")


class HunkComment(Value):
    """A request of the user for one hunk of a review."""

    hunk: int
    """Its number in the diff."""
    text: str


class EditedHunk(Value):
    """The user's changes to one hunk of a review."""

    hunk: int
    """Its number in the diff."""
    body: str = ""
    """The hunk from `@@` to its last line, as the user has rewritten it; empty: as proposed."""
    omitted: tuple[int, ...] = ()
    """Changed lines that are left out, by their position among the lines of that body, from 0."""


class HunkDecisions(EventValue):
    """The user's decisions in a review. With comments, the change is worked on and reviewed again.

    Otherwise `coder.patching.git_hunks.rebuild_diff(diff, accepted, edits)` is delivered; unless it is the
    whole diff, it must be verified itself.
    """

    accepted: tuple[int, ...]
    """Numbers in `coder.patching.git_hunks.split_git_diff(diff)`, from 0, ascending."""
    comments: tuple[HunkComment, ...] = ()
    edits: tuple[EditedHunk, ...] = ()
    refused: bool = False
    """Nothing is to be delivered; the decisions are kept in case the review goes on."""


class Hunk(Value):
    """The smallest part of a diff that can be accepted or rejected."""

    path: str
    """The file's new name; its old one where it is deleted."""
    header: str
    """The file's lines before its first `@@`, the same for all hunks of the file."""
    body: str
    """From `@@` to the last line; empty where the file changes without a hunk (a rename, a mode, an empty or
    a binary file)."""


def first_line(hunk: Hunk) -> int:
    """Return the number in the new file of a hunk's first line; 0 if it has no lines."""
    match = _NEW_RANGE.match(hunk.body)
    return int(match[1]) if match else 0


def first_changed_line(hunk: Hunk) -> int:
    """Return the number in the new file of the first line that a hunk changes; 0 if it has no lines."""
    if not (start := first_line(hunk)):
        return 0
    lines = hunk.body.splitlines()[1:]
    unchanged = next((place for place, line in enumerate(lines) if line[:1] in ("+", "-")), 0)
    return start + unchanged
