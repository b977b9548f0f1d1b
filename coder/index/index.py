"""Symbol index of one tree, updated by file status and shared by content."""

import os
import sqlite3
import threading
from collections.abc import Collection
from pathlib import Path

from coder.index.database import MAX_CONTENTS_PER_FILE, SPARE_CONTENTS, Database
from coder.index.definition import Definition
from coder.index.listing import UNRELIABLE_STATUS, FileStatus, TreeListing, list_tree
from coder.index.parsing import content_key, load_definitions, read_bytes
from coder.index.snapshot import IndexSnapshot
from coder.index.worker import parse_in_workers


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
