"""Record and removal of what a session leaves in a repository.

The record is written first, so that any later session can clean up after a killed one.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from coder.core.errors import GitError, UserError
from coder.files.regular_files import replace_text
from coder.repo.delivery import INTENT_FILE, NOTES_REF, PendingDelivery, read_pending, short_session_id
from coder.repo.git import Git, InertDirectory, repository_lock, session_lock
from coder.repo.worktrees import remove_tree, remove_worktrees

RECORD_FILE = "workspace.json"
BUNDLE_FILE = "steps.bundle"


@dataclass(frozen=True, kw_only=True)
class SessionPaths:
    """Locations that a session uses."""

    session: str
    state: Path
    """The session's own directory."""
    common: Path
    """The git directory of the repository."""
    head: str = ""
    """The commit that the session started from; commits of its parents are not bundled."""

    @property
    def bundle(self) -> Path:
        """Path of the bundle of the session's steps once its refs are gone."""
        return self.state / BUNDLE_FILE

    def candidate_ref(self, candidate: str) -> str:
        """Return the ref that is a candidate's private branch."""
        return f"{self.refs}heads/{candidate}"

    @property
    def worktrees(self) -> Path:
        """The directory of the session's worktrees."""
        return self.state / "worktrees"

    @property
    def indexes(self) -> Path:
        """The directory of the session's index files."""
        return self.state / "indexes"

    @property
    def refs(self) -> str:
        """The prefix of the session's private refs."""
        return f"refs/coder/{self.session}/"

    def write_record(self) -> None:
        """Write the record into the session's directory atomically, creating directories where needed."""
        self.indexes.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"common": str(self.common), "head": self.head})
        replace_text(self.state / RECORD_FILE, record)


def remove_traces(traces: SessionPaths) -> None:
    """Remove a session's worktrees, private refs and indexes; deliveries stay.

    Raises:
        GitError: a ref cannot be removed; a later call may.
    """
    if traces.common.is_dir():
        remove_worktrees(traces.common, traces.worktrees, prefix=f"{traces.session}-")
        _remove_stale_locks(traces)
        git = Git(
            directory=traces.state, git_dir=traces.common, inert=InertDirectory(traces.common, traces.common)
        )
        _bundle_steps(git, traces)
        refs = git.text("for-each-ref", "--format=delete %(refname)", traces.refs)
        git.call("update-ref", "--stdin", stdin=f"{refs}\n".encode() if refs else b"")
    remove_tree(traces.worktrees)
    remove_tree(traces.indexes)
    if not traces.worktrees.exists():
        (traces.state / RECORD_FILE).unlink(missing_ok=True)


def _bundle_steps(git: Git, traces: SessionPaths) -> None:
    """Write the session's steps into a bundle that needs only the parents of the session's start commit.

    These survive an amended HEAD. Failure is tolerated: the log contains every change as a diff.
    """
    if not git.text("for-each-ref", "--count=1", f"{traces.refs}steps/"):
        return
    exclusions = (f"^{traces.head}^@",) if traces.head and git.resolve_commit(traces.head) else ()
    refs = git.text("for-each-ref", "--format=%(refname)", f"{traces.refs}steps/").split()
    # To stdout, since a killed git would leave a lock beside a file.
    output = git.call("bundle", "create", "--quiet", "-", *refs, *exclusions, accept=None)
    if output.status == 0:
        draft = traces.bundle.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_bytes(output.stdout)
        draft.replace(traces.bundle)


def recover_abandoned(sessions: Path, settle: Callable[[Path, PendingDelivery], None]) -> tuple[str, ...]:
    """Clean up after every session that left traces and whose process is gone; return their ids.

    `settle` completes or undoes a started delivery, as the session's log decides.
    """
    states = {record.parent for name in (RECORD_FILE, INTENT_FILE) for record in sessions.glob(f"*/{name}*")}
    return tuple(state.name for state in sorted(states) if _recover_session(state, settle))


def _recover_session(state: Path, settle: Callable[[Path, PendingDelivery], None]) -> bool:
    with ExitStack() as stack:
        try:
            stack.enter_context(session_lock(state))
            if (state / RECORD_FILE).exists():
                record = json.loads((state / RECORD_FILE).read_text(encoding="utf-8"))
                remove_traces(
                    SessionPaths(
                        session=state.name,
                        state=state,
                        common=Path(record["common"]),
                        head=record.get("head", ""),
                    )
                )
            pending = read_pending(state)
            if pending is not None and pending.common.is_dir():
                settle(state, pending)
            (state / INTENT_FILE).unlink(missing_ok=True)
            for draft in (*state.glob(f"{RECORD_FILE}.*"), *state.glob(f"{INTENT_FILE}.*")):
                draft.unlink()  # of a process that was killed while it replaced the file
        except (UserError, FileNotFoundError):  # still running, or just cleaned up by another process
            return False
        except (GitError, OSError, ValueError, KeyError):
            # Busy, broken, or a truncated record: this must not block work in other repositories.
            return False
    return True


def _remove_stale_locks(traces: SessionPaths) -> None:
    """Remove the `<ref>.lock` files that a killed git leaves.

    Only locks that no other session and no user could hold are removed.
    """
    for lock in (traces.common / traces.refs).rglob("*.lock"):
        lock.unlink(missing_ok=True)
    for lock in (traces.common / "refs" / "heads" / "coder").glob(
        f"*-{short_session_id(traces.session)}.lock"
    ):
        lock.unlink(missing_ok=True)
    with repository_lock(traces.common):  # held by every writer of notes
        (traces.common / f"{NOTES_REF}.lock").unlink(missing_ok=True)
