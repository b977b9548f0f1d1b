"""Symbol index of one tree, updated by file status and shared by content."""

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.paths import SOURCE_SUFFIXES
from coder.files.ripgrep import list_paths
from coder.index.parsers import Definition
from coder.index.parsing import content_key, load_definitions, parse_in_workers, read_bytes
from coder.index.resolve import resolve_name
from coder.index.snapshot import (
    MAX_CONTENTS_PER_FILE,
    SPARE_CONTENTS,
    Database,
    IndexedPlace,
    IndexSnapshot,
    NameUse,
)

FileStatus = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode; all zero where it must be read again."""


@dataclass(frozen=True, kw_only=True)
class TreeListing:
    paths: tuple[str, ...] = ()
    """Every file that git does not ignore, sorted."""
    files: Mapping[str, FileStatus] = field(default_factory=dict)
    """Files that may be indexed."""
    watched: Mapping[str, FileStatus] = field(default_factory=dict)
    """Directories and ignore files: while their status is unchanged, no file was added or removed."""


class SymbolIndex:
    """Index of the definitions and uses of a tree."""

    def __init__(self, root: Path, database: Path | None = None) -> None:
        """Create the index without opening it; without `database` it is kept in memory."""
        self._root = root
        self._path = database
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._epoch = 0
        self._listing = TreeListing()
        self._sources: dict[str, int] = {}
        self._snapshot: IndexSnapshot | None = None

    def refresh(self) -> IndexSnapshot:
        """Update the index and return its state; callable from any thread."""
        with self._lock:
            try:
                return self._update()
            except (sqlite3.OperationalError, OSError):
                # The disk is full or read-only, or another process writes for minutes: continue in memory.
                self._database = Database(None)
                return self._update()
            except sqlite3.DatabaseError:
                self._open().rebuild()
                return self._update()

    def cached_definitions(self, path: str, data: bytes) -> tuple[Definition, ...] | None:
        """Return the stored definitions of a file with this content, without parsing it.

        None where it is not stored.
        """
        if (
            self._database is None and (self._path is None or not self._path.exists())
        ) or not self._lock.acquire(blocking=False):
            return None
        try:
            database = self._open()
            identity = next(iter(database.stored_ids([content_key(path, data)]).values()), None)
            result = (
                load_definitions(database.stored_facts(identity, "definitions"))
                if identity is not None
                else None
            )
            return None if database.damaged else result
        except sqlite3.Error:
            return None
        finally:
            self._lock.release()

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self._path)
        if self._database.damaged:
            self._database.rebuild()
        return self._database

    def _update(self) -> IndexSnapshot:
        database = self._open()
        if (epoch := database.epoch) != self._epoch or self._snapshot is None:
            self._load_listing(database, epoch)
        listing = list_tree(self._root, self._listing)
        if database.content_count > MAX_CONTENTS_PER_FILE * len(listing.files) + SPARE_CONTENTS:
            with database.write_transaction():
                database.clear()
            self._load_listing(database, database.epoch)
        changed = [
            path
            for path, status in listing.files.items()
            if path not in self._sources or status != self._listing.files.get(path)
        ]
        uncertain = [
            path
            for path, status in listing.files.items()
            if status == UNRELIABLE_STATUS and path not in changed
        ]
        if self._snapshot and not changed and not uncertain and listing.paths == self._listing.paths:
            return self._snapshot
        sources = {path: self._sources[path] for path in listing.files if path in self._sources}
        sources |= self._content_ids(database, [*changed, *uncertain])
        if (listing, sources) != (self._listing, self._sources):
            self._store_listing(database, listing, sources)
        self._listing, self._sources = listing, sources
        self._snapshot = IndexSnapshot(
            root=self._root, paths=listing.paths, sources=sources, database=database
        )
        return self._snapshot

    def _load_listing(self, database: Database, epoch: int) -> None:
        self._epoch, self._snapshot, self._listing, self._sources = epoch, None, TreeListing(), {}
        stored = database.load_listing(os.fsencode(self._root))
        if stored is None:
            return
        paths, files, watched_looks, self._sources = stored
        looks: list[dict[str, FileStatus]] = [
            {path: (size, time, inode) for path, (size, time, inode) in looks_by_path.items()}
            for looks_by_path in (files, watched_looks)
        ]
        self._listing = TreeListing(paths=tuple(paths), files=looks[0], watched=looks[1])

    def _store_listing(self, database: Database, listing: TreeListing, sources: dict[str, int]) -> None:
        database.store_listing(
            os.fsencode(self._root), [listing.paths, listing.files, listing.watched, sources]
        )

    def _content_ids(self, database: Database, paths: Collection[str]) -> dict[str, int]:
        """Return the content ids of files, parsing contents that are not stored yet."""
        keys: dict[str, bytes] = {}
        for path in paths:
            if (data := read_bytes(f"{self._root}/{path}")) is not None:
                keys[path] = content_key(path, data)
        stored_ids = database.stored_ids(keys.values())
        if missing := {key: path for path, key in keys.items() if key not in stored_ids}:
            with database.write_transaction():
                stored_ids = database.stored_ids(keys.values())
                jobs = {
                    key: ((self._root / path).stat().st_size, path, f"{self._root}/{path}")
                    for key, path in missing.items()
                    if key not in stored_ids
                }
                stored_ids |= database.add_files(jobs, parse_in_workers)
        return {path: stored_ids[key] for path, key in keys.items() if key in stored_ids}


LARGEST_BYTES = 2_000_000
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
RACY_NANOSECONDS = 50_000_000
"""Granularity of file system clocks: a file changed so shortly before its status was read may change
unnoticed."""
MAX_FOLDERS = 20_000
UNRELIABLE_STATUS: FileStatus = (0, 0, 0)


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


def find_uses(snapshot: IndexSnapshot, places: Sequence[IndexedPlace]) -> list[NameUse]:
    """Return the uses of definitions of one name.

    Their own lines are excluded, and files that certainly use a namesake.
    """
    bare = next(place.definition.bare_name for place in places if place.definition)
    own = {(place.path, place.definition.line) for place in places if place.definition}
    uses = (
        NameUse(path=use.path, lines=tuple(line for line in use.lines if (use.path, line) not in own))
        for use in snapshot.uses_of_name(bare)
    )
    is_top_level = all(place.definition and "." not in place.definition.name for place in places)
    paths = {place.path for place in places}
    return [
        use
        for use in uses
        if use.lines and (not is_top_level or not _means_another(snapshot, use.path, bare, paths))
    ]


def _means_another(snapshot: IndexSnapshot, path: str, bare: str, paths: set[str]) -> bool:
    """Tell whether a file defines the name itself, or imports it from elsewhere.

    A variable that holds an import, such as `const parse = require('./text').parse`, defines nothing.
    """
    if path in paths:
        return False
    import_lines = {imported.line for imported in snapshot.imports(path)}
    if any(
        definition.name == bare and not (definition.kind == "variable" and definition.line in import_lines)
        for definition in snapshot.definitions(path)
    ):
        return True
    if not any(definition.local_name == bare for definition in snapshot.imports(path)):
        return False
    target_paths = {
        place.path
        for place in resolve_name(snapshot, bare, importer=path)
        if place.definition and place.definition.bare_name == bare
    }
    return path.endswith(".py") and not target_paths & paths
