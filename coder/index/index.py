"""The symbol index of one tree, kept up to date by what its files look like and shared by what they hold."""

import os
import sqlite3
import threading
from collections.abc import Collection
from pathlib import Path

from coder.index.database import MOST_CONTENTS, SPARE_CONTENTS, Database
from coder.index.definition import Definition
from coder.index.listing import UNTRUSTED, Listing, Look, look
from coder.index.parsing import defined, key_of, read_bytes
from coder.index.snapshot import Snapshot
from coder.index.worker import parse_all


class SymbolIndex:
    """Knows what a tree defines and uses."""

    def __init__(self, root: Path, database: Path | None = None) -> None:
        """Nothing is opened before it is asked; without `database` it lives in memory."""
        self._root = root
        self._path = database
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._epoch = 0
        self._listing = Listing()
        self._sources: dict[str, int] = {}
        self._snapshot: Snapshot | None = None

    def current(self) -> Snapshot:
        """Bring up to date, and say what stands now; any thread may call."""
        with self._lock:
            try:
                return self._current()
            except (sqlite3.OperationalError, OSError):
                # The disk is full or read-only, or somebody else writes for minutes: what is known need not be kept.
                self._database = Database(None)
                return self._current()
            except sqlite3.DatabaseError:
                self._opened().remake()
                return self._current()

    def known(self, path: str, data: bytes) -> tuple[Definition, ...] | None:
        """The definitions of a file with this content, much sooner than they are read from it; None where that was not yet done."""
        if (
            self._database is None and (self._path is None or not self._path.exists())
        ) or not self._lock.acquire(blocking=False):
            return None
        try:
            database = self._opened()
            identity = next(iter(database.known([key_of(path, data)]).values()), None)
            found = defined(database.facts(identity, "definitions")) if identity is not None else None
            return None if database.damaged else found
        except sqlite3.Error:
            return None
        finally:
            self._lock.release()

    def _opened(self) -> Database:
        if self._database is None:
            self._database = Database(self._path)
        if self._database.damaged:
            self._database.remake()
        return self._database

    def _current(self) -> Snapshot:
        database = self._opened()
        if (epoch := database.epoch) != self._epoch or self._snapshot is None:
            self._remember(database, epoch)
        now = look(self._root, self._listing)
        if database.contents > MOST_CONTENTS * len(now.files) + SPARE_CONTENTS:
            with database.writing():
                database.wipe()
            self._remember(database, database.epoch)
        changed = [
            path
            for path, seen in now.files.items()
            if path not in self._sources or seen != self._listing.files.get(path)
        ]
        doubtful = [path for path, seen in now.files.items() if seen == UNTRUSTED and path not in changed]
        if self._snapshot and not changed and not doubtful and now.paths == self._listing.paths:
            return self._snapshot
        sources = {path: self._sources[path] for path in now.files if path in self._sources}
        sources |= self._identified(database, [*changed, *doubtful])
        if (now, sources) != (self._listing, self._sources):
            self._keep(database, now, sources)
        self._listing, self._sources = now, sources
        self._snapshot = Snapshot(root=self._root, paths=now.paths, sources=sources, database=database)
        return self._snapshot

    def _remember(self, database: Database, epoch: int) -> None:
        self._epoch, self._snapshot, self._listing, self._sources = epoch, None, Listing(), {}
        kept = database.listing(os.fsencode(self._root))
        if kept is None:
            return
        paths, files, watched, self._sources = kept
        looks: list[dict[str, Look]] = [
            {path: (size, time, inode) for path, (size, time, inode) in seen.items()}
            for seen in (files, watched)
        ]
        self._listing = Listing(paths=tuple(paths), files=looks[0], watched=looks[1])

    def _keep(self, database: Database, listing: Listing, sources: dict[str, int]) -> None:
        database.keep_listing(
            os.fsencode(self._root), [listing.paths, listing.files, listing.watched, sources]
        )

    def _identified(self, database: Database, paths: Collection[str]) -> dict[str, int]:
        """The content ids of files, those never seen before parsed."""
        keys: dict[str, bytes] = {}
        for path in paths:
            if (data := read_bytes(f"{self._root}/{path}")) is not None:
                keys[path] = key_of(path, data)
        known = database.known(keys.values())
        if unknown := {key: path for path, key in keys.items() if key not in known}:
            with database.writing():
                known = database.known(keys.values())
                jobs = {
                    key: ((self._root / path).stat().st_size, path, f"{self._root}/{path}")
                    for key, path in unknown.items()
                    if key not in known
                }
                known |= database.add(jobs, parse_all)
        return {path: known[key] for path, key in keys.items() if key in known}
