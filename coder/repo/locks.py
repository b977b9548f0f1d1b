"""File locks that end with the process that holds them and leave no file in a repository."""

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coder.core.errors import UserError

OWNER_BYTES = 200


@contextmanager
def repository_lock(common: Path) -> Iterator[None]:
    """Hold the lock on what sessions share in this repository: the notes, the list of worktrees."""
    directory = os.open(common, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # A network file system may not support locking directories; the worst result is a lost note.
        with suppress(OSError):
            fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


@contextmanager
def state_lock(path: Path) -> Iterator[None]:
    """Wait for a lock on a file of coder's own, creating it where needed, and hold it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@contextmanager
def session_lock(session: Path) -> Iterator[None]:
    """Mark a session's directory as in use by this process, creating it where needed.

    Raises:
        UserError: another process uses it.
    """
    session.mkdir(parents=True, exist_ok=True)
    file = os.open(session / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(file, OWNER_BYTES, 0).decode("utf-8", "replace") or "another process"
            raise UserError(
                f"The session {session.name} is in use by {owner}; wait for it to end or stop it."
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {platform.node()}".encode(), 0)
        yield
    finally:
        os.close(file)
