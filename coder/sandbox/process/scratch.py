"""Private temporary directories that are gone after their owner, even one that was killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "coder-sandbox-"


class Scratch:
    """A directory for temporary files, locked for as long as its owner lives."""

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self._owner = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        made = Path(self._owner.name, "new")
        self._lock = os.open(made, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        made.rename(
            made.with_name("lock")
        )  # only now may another process see it: it is never there unlocked while we live
        self.path = Path(self._owner.name, "tmp").resolve()
        self.path.mkdir()

    def close(self) -> None:
        """Remove it with all that is in it."""
        self._owner.cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(directory: Path) -> None:
    """Remove scratch directories in `directory` that belong to this user and whose owner was killed."""
    for path in directory.glob(f"{PREFIX}*"):
        try:
            if path.lstat().st_uid != os.getuid() or path.is_symlink():
                continue
            lock = os.open(path / "lock", os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # not ours to touch, or just being made or removed by its owner
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
