"""Ports of the user's repository and its history."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from coder.core.values.candidate import Candidate, Delivery, NewCommit, Patch
from coder.core.values.history import CommitInfo

WorktreeContext = Callable[[], AbstractContextManager[object]]


class Repository(Protocol):
    """Git as a session needs it.

    The user's checkout, index, stash and branch are never touched, except by `deliver(merge=True)`.
    """

    @property
    def root(self) -> Path:
        """Root of the user's checkout."""

    @property
    def head(self) -> str:
        """The commit at HEAD."""

    @property
    def base(self) -> str:
        """The commit that candidates start from.

        It is HEAD plus a snapshot of the uncommitted work, or the requested revision.
        """

    @property
    def dirty(self) -> bool:
        """Whether `base` holds uncommitted work."""

    def create_candidate(self, name: str) -> Candidate:
        """Create a linked worktree at `base`, with the ignored artefacts that tests need."""

    def candidate_patch(self, candidate: Candidate) -> Patch:
        """Return the candidate's whole change so far, including new files but not ignored ones."""

    def checkpoint(self, candidate: Candidate, subject: str) -> str:
        """Commit the worktree's state to the candidate's own ref and return the commit."""

    def rollback(self, candidate: Candidate, tree: str) -> None:
        """Restore the candidate's worktree to an earlier tree or commit.

        Untracked files are included, ignored ones are not.
        """

    def restore_on_exit(self, candidate: Candidate) -> AbstractContextManager[None]:
        """Restore the candidate's worktree on exit, to keep files written by tests out of its change.

        Ignored files stay.
        """

    def checkout(self, tree: str, paths: Sequence[str] | None = None) -> AbstractContextManager[Path]:
        """Check out a disposable worktree at `base` with the content of `tree` (all of it, or only `paths`).

        It is removed on exit.
        """

    def changed_paths(self, tree: str) -> tuple[str, ...]:
        """Return the paths that differ between `base` and `tree`, sorted."""

    def changed_texts(self, tree: str) -> Mapping[str, str | None] | None:
        """Return the texts in `tree` of all paths that differ from `base` (None: no such file).

        None where one of them is not a plain UTF-8 file.
        """

    def rebase_on_head(self, patch: Patch) -> Patch | None:
        """Rebase a change onto HEAD without the uncommitted work, as a tree and diff.

        None where it does not apply.
        """

    def on_head(self) -> "Repository":
        """Return the same repository with plain HEAD as the base, for verifying a rebased change there."""

    def deliver(
        self, patch: Patch, *, message: str, evidence: str, slug: str, steps_of: Candidate | None = None
    ) -> Delivery:
        """Put the change on a new branch on top of HEAD, with `evidence` as the commit's git note.

        It is one commit, preceded by a copy of each step of the candidate `steps_of`, if given.
        """

    def merge(self, delivery: Delivery) -> NewCommit:
        """Merge a delivered commit into the user's current branch.

        Return the resulting commit, possibly an unverified copy.

        Raises:
            UserError: it no longer applies, or a path it needs is dirty; nothing was changed.
        """

    def recent_subjects(self, count: int) -> tuple[str, ...]:
        """Return the newest commit subjects, as examples of style."""

    def close(self) -> None:
        """Remove worktrees, the snapshot and the session's private refs; delivered changes stay."""


class History(Protocol):
    """Read-only git history of a place."""

    def log(
        self,
        *,
        path: str | None = None,
        lines: tuple[int, int] | None = None,
        word: str | None = None,
        count: int = 10,
        patch: bool = False,
    ) -> str:
        """Return the newest commits that touch the path, its lines, or mention the word in message or diff.

        `lines` are first and last, from 1, both included; with `patch`, each commit shows its change of them.
        """

    def blame(self, path: str, first: int, last: int) -> str:
        """Return the commit that last changed each line of a range, a row for each run of lines.

        Lines count from 1, both ends included.
        """

    def show(self, revision: str, path: str | None = None) -> str:
        """Return one commit: message and diff, restricted to a path if given."""

    def read_file(self, path: str) -> str | None:
        """Return a text file at the newest commit of the history; None where it is missing or too large."""

    def recent_commits(self, *, path: str | None = None, count: int = 200) -> tuple[CommitInfo, ...]:
        """Return the newest commits without merges, newest first."""

    def line_commits(self, path: str, since: str) -> tuple[str, ...]:
        """Return for each line of a file the commit that last changed it; "" where not newer than `since`."""
