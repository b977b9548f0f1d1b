"""Listing of a tree with the status of each file, so that only changed files are opened."""

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.values.paths import SOURCE_SUFFIXES
from coder.files.ripgrep import list_paths

LARGEST_BYTES = 2_000_000
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
RACY_NANOSECONDS = 50_000_000
"""Granularity of file system clocks: a file changed so shortly before its status was read may change
unnoticed."""
MAX_FOLDERS = 20_000

FileStatus = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode; all zero where it must be read again."""
UNRELIABLE_STATUS: FileStatus = (0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class TreeListing:
    """A snapshot of a tree's file status."""

    paths: tuple[str, ...] = ()
    """Every file that git does not ignore, sorted."""
    files: Mapping[str, FileStatus] = field(default_factory=dict)
    """Files that may be indexed."""
    watched: Mapping[str, FileStatus] = field(default_factory=dict)
    """Directories and ignore files: while their status is unchanged, no file was added or removed."""


def list_tree(root: Path, before: TreeListing) -> TreeListing:
    """Update the file list, and read the status of each file."""
    now = time.time_ns()
    base = os.fspath(root)
    if before.watched and all(
        _directory_status(base, path, now) == status != UNRELIABLE_STATUS
        for path, status in before.watched.items()
    ):
        paths, watched = before.paths, before.watched
    else:
        paths = list_paths(root)
        watched = {
            path: _directory_status(base, path, now) for path in (*_folders(base, paths), *_rules(paths))
        }
    files = {
        path: status
        for path in paths
        if path.endswith(SOURCE_SUFFIXES) and (status := _source_status(base, path, now))
    }
    return TreeListing(paths=paths, files=files, watched=watched)


def _directory_status(base: str, path: str, now: int) -> FileStatus:
    try:
        status = os.stat(f"{base}/{path}")  # noqa: PTH116  # called thousands of times
    except (OSError, ValueError):
        return (-1, -1, -1)
    return _reliable_status(status, now)


def _source_status(base: str, path: str, now: int) -> FileStatus | None:
    try:
        status = os.lstat(f"{base}/{path}")
    except (OSError, ValueError):
        return None
    return (
        _reliable_status(status, now)
        if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= LARGEST_BYTES
        else None
    )


def _reliable_status(status: os.stat_result, now: int) -> FileStatus:
    return (
        (status.st_size, status.st_mtime_ns, status.st_ino)
        if status.st_mtime_ns < now - RACY_NANOSECONDS
        else UNRELIABLE_STATUS
    )


def _rules(paths: Iterable[str]) -> list[str]:
    return [".git/info/exclude", *(path for path in paths if path.endswith(IGNORE_FILES))]


def _folders(base: str, paths: Iterable[str]) -> list[str]:
    """Return the directories of listed files, and those where the first such file may be created."""
    holding = {"."}
    for folder in {path.rpartition("/")[0] for path in paths}:
        while folder and folder not in holding:
            holding.add(folder)
            folder = folder.rpartition("/")[0]
    folders = set(holding)
    stack = list(holding)
    while stack and len(folders) < MAX_FOLDERS:
        folder = stack.pop()
        inner, has_files = _entries(base, folder)
        if folder in holding or not has_files:
            new_folders = [path for path in inner if path not in folders]
            folders.update(new_folders)
            stack += new_folders
    return sorted(folders)


def _entries(base: str, folder: str) -> tuple[list[str], bool]:
    """Return the directories in a directory, and whether it has any other entry."""
    inner: list[str] = []
    has_others = False
    try:
        with os.scandir(f"{base}/{folder}") as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    has_others = True
                elif entry.name != ".git":
                    inner.append(entry.name if folder == "." else f"{folder}/{entry.name}")
    except OSError:
        return [], True
    return inner, has_others
