"""Temporary edits of a tree, and cleanup of what a run leaves behind."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

TICK_NS = 2_000_000_000
"""Bytecode records the source's time in whole seconds: an edited file must not look like another one of the
same size.
"""


@contextmanager
def temporary_edits(tree: Path, edits: Mapping[str, str | None]) -> Iterator[None]:
    """Write texts to files of the tree (None deletes), and restore the files on exit."""
    before: dict[Path, tuple[bytes, os.stat_result] | None] = {}
    created: list[Path] = []
    try:
        for path, text in edits.items():
            file = tree / path
            before[file] = (file.read_bytes(), file.stat()) if file.exists() else None
            _apply(file, text, before[file], created)
        yield
    finally:
        for file, original in before.items():
            if original is None:
                file.unlink(missing_ok=True)
            else:
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                overwrite(file, original[0])
                if file.stat().st_mode != original[1].st_mode:
                    file.chmod(original[1].st_mode)
                os.utime(file, ns=(original[1].st_atime_ns, original[1].st_mtime_ns))
        for directory in reversed(created):
            with suppress(OSError):  # not empty: the Keeper deals with other files in it
                directory.rmdir()


def _apply(
    file: Path, text: str | None, original: tuple[bytes, os.stat_result] | None, created: list[Path]
) -> None:
    if text is None:
        file.unlink(missing_ok=True)
        return
    for directory in reversed([parent for parent in file.parents if not parent.exists()]):
        directory.mkdir()
        created.append(directory)
    overwrite(file, text.encode())
    if original is not None:
        mtime = max(file.stat().st_mtime_ns, original[1].st_mtime_ns + TICK_NS)
        os.utime(file, ns=(mtime, mtime))


def overwrite(file: Path, data: bytes) -> None:
    """Overwrite a file in place.

    Truncating it first makes some file systems wait for the disk on close.
    """
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file_object:
        file_object.write(data)
        file_object.truncate()


class TreeSnapshot:
    """Snapshot of a tree (times and sizes), to restore it after a run."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._files = dict(_scan(tree))

    def remove_added(self) -> str:
        """Remove added files; return the path of a file that was changed or deleted, or an empty string.

        Changed files cannot be restored.
        """
        current = dict(_scan(self._tree))
        for path in current.keys() - self._files.keys():
            file = self._tree / path
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
        return next((path for path, stamp in self._files.items() if current.get(path) != stamp), "")


def _scan(tree: Path, prefix: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(tree / prefix) as entries:
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if path == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield path, (0, 0)
                yield from _scan(tree, f"{path}/")
            else:
                status = entry.stat(follow_symlinks=False)
                yield path, (status.st_mtime_ns, status.st_size)
