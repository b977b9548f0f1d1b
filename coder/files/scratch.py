"""Private temporary directories that are removed after their owner, even one that was killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "coder-scratch-"


class ScratchDirectory:
    """A directory for temporary files, locked while its owner lives."""

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self._owner = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        lock_file = Path(self._owner.name, "new")
        self._lock = os.open(lock_file, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        # Renamed only when locked, so that another process never sees it unlocked while the owner lives.
        lock_file.rename(lock_file.with_name("lock"))
        self.path = Path(self._owner.name, "tmp").resolve()
        self.path.mkdir()

    def close(self) -> None:
        """Remove the directory and its content."""
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
        except OSError:  # not ours, or being made or removed by its owner
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
