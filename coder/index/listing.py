"""The files of a tree and what each looks like from outside, so that only what has changed is opened."""

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coder.files.ripgrep import list_paths

LANGUAGES = (
    *(
        ".py",
        ".pyi",
        ".pyx",
        ".js",
        ".jsx",
        ".mjs",
        ".cjs",
        ".ts",
        ".tsx",
        ".mts",
        ".cts",
        ".go",
        ".rs",
        ".java",
        ".rb",
        ".rake",
    ),
    *(
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".cxx",
        ".hh",
        ".hpp",
        ".hxx",
        ".php",
        ".cs",
        ".kt",
        ".swift",
        ".scala",
        ".lua",
        ".sh",
    ),
)
LARGEST_BYTES = 2_000_000
RULES = (".gitignore", ".ignore", ".rgignore")
RACY_NANOSECONDS = 50_000_000
"""Clocks of file systems tick: what was changed so shortly before it was looked at may change again and look the same."""
MOST_FOLDERS = 20_000

Look = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode; all zero where it must be looked at again."""
UNTRUSTED: Look = (0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A tree as it looked at one moment."""

    paths: tuple[str, ...] = ()
    """Every file that git does not ignore, sorted."""
    files: Mapping[str, Look] = field(default_factory=dict)
    """What may be indexed."""
    watched: Mapping[str, Look] = field(default_factory=dict)
    """Directories and files of ignore rules: while they look the same, no file has come or gone."""


def look(root: Path, before: Listing) -> Listing:
    """List what has come and gone since, and see what each file looks like now."""
    now = time.time_ns()
    base = os.fspath(root)
    if before.watched and all(
        _look(base, path, now) == seen != UNTRUSTED for path, seen in before.watched.items()
    ):
        paths, watched = before.paths, before.watched
    else:
        paths = list_paths(root)
        watched = {path: _look(base, path, now) for path in (*_folders(base, paths), *_rules(paths))}
    files = {path: seen for path in paths if path.endswith(LANGUAGES) and (seen := _source(base, path, now))}
    return Listing(paths=paths, files=files, watched=watched)


def _look(base: str, path: str, now: int) -> Look:
    try:
        found = os.stat(f"{base}/{path}")  # noqa: PTH116  # thousands of times
    except (OSError, ValueError):
        return (-1, -1, -1)
    return _trusted(found, now)


def _source(base: str, path: str, now: int) -> Look | None:
    try:
        found = os.lstat(f"{base}/{path}")
    except (OSError, ValueError):
        return None
    return (
        _trusted(found, now) if stat.S_ISREG(found.st_mode) and 0 < found.st_size <= LARGEST_BYTES else None
    )


def _trusted(found: os.stat_result, now: int) -> Look:
    return (
        (found.st_size, found.st_mtime_ns, found.st_ino)
        if found.st_mtime_ns < now - RACY_NANOSECONDS
        else UNTRUSTED
    )


def _rules(paths: Iterable[str]) -> list[str]:
    return [".git/info/exclude", *(path for path in paths if path.endswith(RULES))]


def _folders(base: str, paths: Iterable[str]) -> list[str]:
    """Those that hold listed files, and those where the first such file may come to stand."""
    holding = {"."}
    for folder in {path.rpartition("/")[0] for path in paths}:
        while folder and folder not in holding:
            holding.add(folder)
            folder = folder.rpartition("/")[0]
    found = set(holding)
    waiting = list(holding)
    while waiting and len(found) < MOST_FOLDERS:
        folder = waiting.pop()
        inner, has_files = _entries(base, folder)
        if folder in holding or not has_files:
            new = [path for path in inner if path not in found]
            found.update(new)
            waiting += new
    return sorted(found)


def _entries(base: str, folder: str) -> tuple[list[str], bool]:
    """The directories in a directory, and whether there is anything else in it."""
    inner: list[str] = []
    others = False
    try:
        with os.scandir(f"{base}/{folder}") as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    others = True
                elif entry.name != ".git":
                    inner.append(entry.name if folder == "." else f"{folder}/{entry.name}")
    except OSError:
        return [], True
    return inner, others
