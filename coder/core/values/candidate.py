"""Candidates: attempts at a task, each with a worktree of its own."""

from pathlib import Path

from coder.core.values.base import Value


class Candidate(Value):
    """One attempt at the task, isolated from the user's checkout and from other candidates."""

    id: str
    """Unique within the session, such as `c1`."""
    worktree: Path
    """A linked worktree that only this candidate writes to."""
    base: str
    """The commit it started from: HEAD plus a snapshot of the uncommitted work."""


class Patch(Value):
    """A change as git represents it."""

    diff: str
    """Unified diff against the candidate's base, empty when nothing changed."""
    paths: tuple[str, ...] = ()
    """Changed paths, sorted; both names of a renamed file."""
    tree: str = ""
    """The git tree that contains the change."""


class NewCommit(Value):
    """A commit made for the user."""

    id: str
    unsigned: str = ""
    """Message that git could not sign it although the user's configuration asks for that."""


class Delivery(Value):
    """The result of delivering a fix."""

    diff: str
    """Against HEAD where it applies there, otherwise against HEAD plus the uncommitted work."""
    branch: str = ""
    """Empty: nothing was written to the repository."""
    commit: str = ""
    merged: bool = False
    needs_uncommitted_work: bool = False
    """The fix only applies on top of uncommitted work, so it is a diff and not a branch."""
    unsigned: str = ""
    """Message that git could not sign the commit although the user's configuration asks for that."""
