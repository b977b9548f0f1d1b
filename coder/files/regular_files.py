"""Reading and copying of regular files in an untrusted tree, of bounded size."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

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
    """Return a regular file's text as UTF-8 with invalid bytes replaced.

    Empty where `read_regular` returns None.
    """
    return (read_regular(path, within=within) or b"").decode("utf-8", "replace")


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
