"""Edits of a tree for as long as a run takes, and what a run leaves behind there."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

TICK_NS = 2_000_000_000
"""Bytecode names its source's time in whole seconds: an edited file must never look like another one of the same size."""


@contextmanager
def written(tree: Path, edits: Mapping[str, str | None]) -> Iterator[None]:
    """Give files of the tree other texts (None: no file), as long as this lasts."""
    before: dict[Path, tuple[bytes, os.stat_result] | None] = {}
    made: list[Path] = []
    try:
        for path, text in edits.items():
            file = tree / path
            before[file] = (file.read_bytes(), file.stat()) if file.exists() else None
            _put(file, text, before[file], made)
        yield
    finally:
        for file, was in before.items():
            if was is None:
                file.unlink(missing_ok=True)
            else:
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                put(file, was[0])
                if file.stat().st_mode != was[1].st_mode:
                    file.chmod(was[1].st_mode)
                os.utime(file, ns=(was[1].st_atime_ns, was[1].st_mtime_ns))
        for directory in reversed(made):
            with suppress(OSError):  # something else was put there, which is for the Keeper to see
                directory.rmdir()


def _put(file: Path, text: str | None, was: tuple[bytes, os.stat_result] | None, made: list[Path]) -> None:
    if text is None:
        file.unlink(missing_ok=True)
        return
    for directory in reversed([parent for parent in file.parents if not parent.exists()]):
        directory.mkdir()
        made.append(directory)
    put(file, text.encode())
    if was is not None:
        later = max(file.stat().st_mtime_ns, was[1].st_mtime_ns + TICK_NS)
        os.utime(file, ns=(later, later))


def put(file: Path, data: bytes) -> None:
    """Write a file in its place: to empty it first makes some file systems wait for the disk when it is closed."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(data)
        opened.truncate()


class Keeper:
    """Keeps a tree as it was."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._files = dict(_found(tree))

    def tidy(self) -> str:
        """Remove what was added; returns the path of a file that was changed or is gone, which cannot be mended, or nothing."""
        now = dict(_found(self._tree))
        for path in now.keys() - self._files.keys():
            file = self._tree / path
            if file.is_dir() and not file.is_symlink():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
        return next((path for path, was in self._files.items() if now.get(path) != was), "")


def _found(tree: Path, inside: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    with os.scandir(tree / inside) as entries:
        for entry in entries:
            path = f"{inside}{entry.name}"
            if path == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield path, (0, 0)
                yield from _found(tree, f"{path}/")
            else:
                told = entry.stat(follow_symlinks=False)
                yield path, (told.st_mtime_ns, told.st_size)
