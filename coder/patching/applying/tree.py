"""File access of patches: no path and no symbolic link, even one created meanwhile, leads out of the root."""

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from coder.patching.errors import PatchError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ConfinedTree:
    """A directory whose files are opened one path component at a time, without following symbolic links."""

    def __init__(self, root: Path, *, may_read: Callable[[str], bool] = lambda _path: True) -> None:
        """Create a view of `root`; `may_read` tells whether a path's content may be shown."""
        self._root = root
        self._may_read = may_read

    def read(self, path: str) -> tuple[bytes, int] | None:
        """Return a regular file's content and permission bits; None where the path does not exist.

        Raises:
            PatchError: it is not a regular file, there is a symbolic link on the way, or it may not be read.
        """
        if not self._may_read(path):
            raise PatchError(f"{path} may hold secrets: the person lets nobody read or change it.")
        try:
            with self._parent(path) as (parent, name):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                _refuse_unusual(status, path)
                handle = os.open(
                    name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent
                )
                with os.fdopen(handle, "rb") as file:
                    return file.read(), stat.S_IMODE(status.st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PatchError(f"{path} cannot be read: {error.strerror}.") from None

    def exists(self, path: str) -> bool:
        """Tell whether anything exists at the path."""
        try:
            with self._parent(path) as (parent, name):
                os.stat(name, dir_fd=parent, follow_symlinks=False)
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    def write(self, path: str, data: bytes, mode: int) -> None:
        """Replace or create a file atomically; missing directories are created.

        Raises:
            OSError: it could not be written; the old content is still there.
        """
        with self._parent(path, make=True) as (parent, name):
            temporary = f".coder-{secrets.token_hex(8)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600, dir_fd=parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    os.fchmod(handle, mode)
                    file.write(data)
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError:
                os.unlink(temporary, dir_fd=parent)
                raise

    def remove(self, path: str) -> None:
        """Delete a file and the directories that it leaves empty."""
        with self._parent(path) as (parent, name):
            os.unlink(name, dir_fd=parent)
        while (path := path.rpartition("/")[0]) and self._remove_if_empty(path):
            pass

    def _remove_if_empty(self, directory: str) -> bool:
        with self._parent(directory) as (parent, name):
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError:  # not empty
                return False
        return True

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        *directories, name = path.split("/")
        handle = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for index, directory in enumerate(directories):
                inner = _enter(handle, directory, make=make, path="/".join(directories[: index + 1]))
                os.close(handle)
                handle = inner
            yield handle, name
        finally:
            os.close(handle)


def _enter(handle: int, name: str, *, make: bool, path: str) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
    if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        raise PatchError(
            f"{path} is a symbolic link; nothing is changed through one. Name the real directory."
        )
    return os.open(name, DIRECTORY, dir_fd=handle)


def _refuse_unusual(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise PatchError(
            f"{path} is a symbolic link; nothing is changed through one. Patch the file it points to."
        )
    if not stat.S_ISREG(status.st_mode):
        raise PatchError(
            f"{path} is {'a directory' if stat.S_ISDIR(status.st_mode) else 'no regular file'}; "
            "only text files can be opened."
        )
