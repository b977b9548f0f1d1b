"""Record and removal of what a session leaves in a repository.

The record is written first, so that any later session can clean up after a killed one.
"""

import json
import os
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from coder.core.errors import CoderError, GitError, UserError
from coder.files.regular_files import DISCARDED, discard_tree, replace_text
from coder.repo.delivery import INTENT_FILE, NOTES_REF, PendingDelivery, read_pending, short_session_id
from coder.repo.git import (
    Git,
    InertDirectory,
    current_owner,
    read_owner,
    repository_lock,
    session_lock,
)
from coder.repo.worktrees import remove_worktrees

RECORD_FILE = "workspace.json"
VISIBLE_DIRECTORY = Path("/var/tmp")


@dataclass(frozen=True, kw_only=True)
class SessionPaths:
    session: str
    state: Path
    """The session's own directory."""
    common: Path
    """The git directory of the repository."""

    def candidate_ref(self, candidate: str) -> str:
        return f"{self.refs}heads/{candidate}"

    @property
    def worktrees(self) -> Path:
        """The directory of the worktrees, in no hidden one where that is possible.

        Programs under test skip hidden directories: Express's file server answers 404 for files there.
        """
        is_hidden = any(part.startswith(".") for part in self.state.parts)
        visible = _own_visible_directory() if is_hidden else None
        if visible is None:
            return self.state / "worktrees"
        return visible / sha256(os.fsencode(self.state)).hexdigest()[:16]

    @property
    def indexes(self) -> Path:
        return self.state / "indexes"

    @property
    def refs(self) -> str:
        return f"refs/coder/{self.session}/"

    def write_record(self) -> None:
        """Write the record into the session's directory atomically, creating directories where needed."""
        self.indexes.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"common": str(self.common)})
        replace_text(self.state / RECORD_FILE, record)


def _own_visible_directory() -> Path | None:
    """Return a directory of this user alone that survives a restart; None if there is none."""
    directory = VISIBLE_DIRECTORY.resolve() / f"coder-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        status = directory.lstat()
    except OSError:
        return None
    is_own = status.st_uid == os.getuid() and stat.filemode(status.st_mode) == "drwx------"
    is_executable = not os.statvfs(directory).f_flag & os.ST_NOEXEC  # tests start programs of the tree
    return directory if is_own and is_executable else None


def remove_traces(traces: SessionPaths, *, keep_record: bool = False) -> None:
    """Remove a session's worktrees, private refs and indexes; deliveries stay.

    With `keep_record` a later call does it again, for a session that may still be working.

    Raises:
        GitError: a ref cannot be removed; a later call may.
    """
    if traces.common.is_dir():
        remove_worktrees(traces.common, traces.worktrees, prefix=f"{traces.session}-")
        _remove_stale_locks(traces)
        git = Git(
            directory=traces.state, git_dir=traces.common, inert=InertDirectory(traces.common, traces.common)
        )
        refs = git.text("for-each-ref", "--format=delete %(refname)", traces.refs)
        git.call("update-ref", "--stdin", stdin=f"{refs}\n".encode() if refs else b"")
    discard_tree(traces.worktrees)
    discard_tree(traces.indexes)
    if not (keep_record or traces.worktrees.exists()):
        (traces.state / RECORD_FILE).unlink(missing_ok=True)


def remove_own_traces(sessions: Path) -> None:
    """Remove the traces of all sessions of this process, which is about to end without ending them.

    Their records stay, so that the next process removes what their threads create meanwhile.
    """
    for record in sessions.glob(f"*/{RECORD_FILE}"):
        with suppress(OSError, ValueError, KeyError, CoderError):
            if read_owner(record.parent) == current_owner():
                remove_traces(_read_record(record), keep_record=True)


def remove_discarded(sessions: Path) -> None:
    """Remove what is left of discarded worktrees after their removal was killed."""
    visible = _own_visible_directory()
    for rest in (*sessions.glob(f"*/*{DISCARDED}*"), *(visible.glob(f"*{DISCARDED}*") if visible else ())):
        with suppress(OSError):
            discard_tree(rest)


def _read_record(record: Path) -> SessionPaths:
    """Return the locations that a session has recorded.

    Raises:
        OSError, ValueError, KeyError: the record is gone or truncated.
    """
    common = json.loads(record.read_text(encoding="utf-8"))["common"]
    return SessionPaths(session=record.parent.name, state=record.parent, common=Path(common))


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
                remove_traces(_read_record(state / RECORD_FILE))
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
