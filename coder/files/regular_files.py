"""Reading, replacing and keeping files where other programs may change the tree."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from coder.files.discard import discard_tree
from coder.python.source import decode_text

LARGEST_BYTES = 5_000_000
SPECIAL_FILE_NAMES = frozenset(
    {".gitignore", ".gitattributes", ".gitmodules", ".mailmap", ".ignore", ".rgignore"}
)


def read_regular(path: Path, *, within: Path | None = None, limit_bytes: int = LARGEST_BYTES) -> bytes | None:
    """Return a regular file's content; None where it is missing, a pipe, a device, or larger than the limit.

    A symbolic link counts only if it ends inside `within` (by default the file's own directory).
    """
    try:
        handle = _open_regular(path, within=within or path.parent, limit_bytes=limit_bytes)
        if handle is None:
            return None
        with os.fdopen(handle, "rb") as file:
            data = file.read(limit_bytes + 1)
    except (OSError, ValueError):
        return None
    return data if len(data) <= limit_bytes else None


def read_regular_text(path: Path, *, within: Path | None = None) -> str:
    """Return a regular file's text in its own encoding (PEP 263), UTF-8 by default, invalid bytes replaced.

    Empty where `read_regular` returns None.
    """
    return decode_text(read_regular(path, within=within) or b"")


def copy_regular(source: Path, target: Path, *, within: Path, limit_bytes: int) -> bool:
    """Copy a regular file with its mode and times; return False and write nothing where it cannot be read."""
    try:
        handle = _open_regular(source, within=within, limit_bytes=limit_bytes)
        if handle is None:
            return False
        with os.fdopen(handle, "rb") as file, target.open("xb") as copy:
            status = os.fstat(file.fileno())
            remaining = limit_bytes
            while remaining > 0 and (data := file.read(min(remaining, 1 << 20))):
                copy.write(data)
                remaining -= len(data)
        target.chmod(stat.S_IMODE(status.st_mode) & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError:
        return False
    return True


def find_special_files(directory: Path) -> Iterator[Path]:
    """Yield special files that git and ripgrep would open by name, and those inside git directories.

    Regular files and directories are left out.
    """
    for place, _, files in os.walk(directory):
        in_git = ".git" in Path(place).parts
        for file in (Path(place, name) for name in files if in_git or name in SPECIAL_FILE_NAMES):
            if file.exists() and not stat.S_ISREG(file.stat().st_mode):
                yield file


def _open_regular(path: Path, *, within: Path, limit_bytes: int) -> int | None:
    """Return a descriptor of the real file behind a path.

    None where opening it could block or have an effect.
    """
    real, root = os.path.realpath(path), os.path.realpath(within)
    if not Path(real).is_relative_to(root) or not _is_small(os.lstat(real), limit_bytes):
        return None
    handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if _is_small(os.fstat(handle), limit_bytes):
        return handle
    os.close(handle)
    return None


def _is_small(status: os.stat_result, limit_bytes: int) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_size <= limit_bytes


def replace_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, creating its directory: at any moment it has either its old or its new content.

    Its permissions stay as they are.

    Raises:
        OSError: it cannot be written.
    """
    replace_bytes(path, text.encode("utf-8"))


def replace_bytes(path: Path, content: bytes) -> None:
    """Write a file as `replace_text` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        with suppress(FileNotFoundError):
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that know no locks, such as some network shares."""


def lock_file(file: int, *, wait: bool = True) -> bool | None:
    """Lock an open file until it is closed; False if another process holds it, None where locks are unknown.

    Raises:
        OSError: it cannot be locked for another reason.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        return None
    return True


PREFIX = "coder-scratch-"


class ScratchDirectory:
    """A directory for temporary files, locked while its owner lives."""

    def __init__(self) -> None:
        remove_abandoned(Path(tempfile.gettempdir()))
        self._owner = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        new = Path(self._owner.name, "new")
        self._lock = os.open(new, os.O_CREAT | os.O_RDWR, 0o600)
        lock_file(self._lock)
        # Renamed only when locked, so that another process never sees it unlocked while the owner lives.
        new.rename(new.with_name("lock"))
        self.path = Path(self._owner.name, "tmp").resolve()
        self.path.mkdir()

    def close(self) -> None:
        discard_tree(Path(self._owner.name), lock=self._lock if self._lock >= 0 else None)
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
            if lock_file(lock, wait=False):
                discard_tree(path, lock=lock)
        finally:
            os.close(lock)
