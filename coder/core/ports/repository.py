"""Ports of the user's repository and its history."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from coder.core.values.candidate import Candidate, Delivery, Patch
from coder.core.values.history import Change

Around = Callable[[], AbstractContextManager[object]]


class Repository(Protocol):
    """Git as a session needs it. The person's checkout, index, stash and branch are never touched, but by `deliver(merge=True)`."""

    @property
    def root(self) -> Path:
        """Of the person's checkout."""

    @property
    def head(self) -> str: ...

    @property
    def base(self) -> str:
        """The commit that candidates start from: HEAD plus a snapshot of the uncommitted work, or the revision asked for."""

    @property
    def dirty(self) -> bool:
        """Does `base` hold uncommitted work?"""

    def candidate(self, name: str) -> Candidate:
        """Make a linked worktree at `base`, with the ignored artefacts that tests need."""

    def patch(self, candidate: Candidate) -> Patch:
        """The candidate's whole change so far, new files included, ignored files not."""

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state to the candidate's own ref and return the commit."""

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Make the candidate's worktree equal to a tree or commit it had before, untracked files included, ignored ones not."""

    def restoring(self, candidate: Candidate) -> AbstractContextManager[None]:
        """On exit the candidate's worktree is as it was, so that what tests write there is no part of its change; ignored files stay."""

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """A clean disposable worktree at `base` with the content of `tree` (all of it, or at `paths` only); gone on exit."""

    def changed(self, tree: str) -> tuple[str, ...]:
        """Paths that differ between `base` and `tree`, sorted."""

    def edits(self, tree: str) -> Mapping[str, str | None] | None:
        """The texts in `tree` of all paths that differ (None: no such file); None at all where one is no plain file of UTF-8."""

    def rebased(self, patch: Patch) -> Patch | None:
        """The same change on HEAD without the uncommitted work, as a tree and diff; None where it does not fit there."""

    def on_head(self) -> "Repository":
        """The same repository with plain HEAD as the base, for proving a rebased change there."""

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note.

        It is one commit, or the last after a copy of each step of a candidate, `steps_of`.
        """

    def merge(self, delivery: Delivery) -> str:
        """Bring a delivered commit onto the person's current branch; return what is there now: the commit, or an unverified copy of it.

        Raises:
            UserError: it no longer fits, or a path it needs is dirty; nothing was changed.
        """

    def subjects(self, count: int) -> tuple[str, ...]:
        """The newest commit subjects, for their style."""

    def close(self) -> None:
        """Remove worktrees, the snapshot and the session's private refs; what was delivered stays."""


class History(Protocol):
    """What git knows of a place, read-only."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
    ) -> str:
        """Newest commits that touch the path, its lines (first, last; from 1), or mention the word in message or change."""

    def blame(self, path: str, first: int, last: int) -> str:
        """Which commit made each line of a range, from 1, both ends included: a row for each run of lines."""

    def show(self, revision: str, path: str | None = None) -> str:
        """One commit: message and diff, of one path if given."""

    def file(self, path: str) -> str | None:
        """A text file as it stands where history ends; None where there is none, or it is too large."""

    def recent(self, *, path: str | None = None, count: int = 200) -> tuple[Change, ...]:
        """The newest commits without merges, newest first."""

    def touched(self, path: str, since: str) -> tuple[str, ...]:
        """Of each line of a file the commit that made it, where that is newer than the commit `since`; else an empty text."""
