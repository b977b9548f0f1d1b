"""Symbol index of one tree, updated by file status and shared by content.

Resolution of dotted Python names through packages, imports, re-exports and base classes.
"""

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coder.core.paths import SOURCE_SUFFIXES
from coder.files.ripgrep import list_paths
from coder.index.parsers import Definition
from coder.index.parsing import content_key, parse_in_workers, read_bytes
from coder.index.snapshot import (
    MAX_CONTENTS_PER_FILE,
    SPARE_CONTENTS,
    Database,
    IndexedPlace,
    IndexSnapshot,
    NameUse,
    module_name,
)

FileStatus = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode; all zero where it must be read again."""
KnownFile = tuple[FileStatus, int]
"""Its status when it was read, and the id of its content."""


class SymbolIndex:
    """Index of the definitions and uses of a tree."""

    def __init__(self, root: Path, database: Path | None = None) -> None:
        """Create the index without opening it; without `database` it is kept in memory."""
        self._root = root
        self._path = database
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._epoch = 0
        self._known: dict[str, KnownFile] = {}
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

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self._path)
        if self._database.damaged:
            self._database.rebuild()
        return self._database

    def _update(self) -> IndexSnapshot:
        database = self._open()
        if (epoch := database.epoch) != self._epoch or self._snapshot is None:
            self._load(database, epoch)
        paths = list_paths(self._root)
        files = _read_statuses(self._root, paths)
        if database.content_count > MAX_CONTENTS_PER_FILE * len(files) + SPARE_CONTENTS:
            with database.write_transaction():
                database.clear()
            self._load(database, database.epoch)
        changed = [
            path
            for path, status in files.items()
            if status == UNRELIABLE_STATUS or status != self._known.get(path, (None,))[0]
        ]
        if self._snapshot and not changed and paths == self._snapshot.paths:
            return self._snapshot
        read = {path: (files[path], id_) for path, id_ in self._content_ids(database, changed).items()}
        before = {path: self._known[path] for path in files.keys() - changed}
        known = dict(sorted({**before, **read}.items()))
        if known != self._known:
            database.store_listing(os.fsencode(self._root), known)
        self._known = known
        sources = {path: id_ for path, (_, id_) in known.items()}
        self._snapshot = IndexSnapshot(root=self._root, paths=paths, sources=sources, database=database)
        return self._snapshot

    def _load(self, database: Database, epoch: int) -> None:
        self._epoch, self._snapshot = epoch, None
        stored = database.load_listing(os.fsencode(self._root)) or {}
        self._known = {path: (tuple(status), id_) for path, (status, id_) in stored.items()}

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
RACY_NANOSECONDS = 50_000_000
"""Granularity of file system clocks: a file changed so shortly before its status was read may change
unnoticed."""
UNRELIABLE_STATUS: FileStatus = (0, 0, 0)


def _read_statuses(root: Path, paths: Iterable[str]) -> dict[str, FileStatus]:
    """Return the files that may be indexed."""
    now, base = time.time_ns(), os.fspath(root)
    statuses: dict[str, FileStatus] = {}
    for path in paths:
        if path.endswith(SOURCE_SUFFIXES):
            with suppress(OSError, ValueError):
                status = os.lstat(f"{base}/{path}")
                if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= LARGEST_BYTES:
                    is_reliable = status.st_mtime_ns < now - RACY_NANOSECONDS
                    statuses[path] = (
                        (status.st_size, status.st_mtime_ns, status.st_ino)
                        if is_reliable
                        else UNRELIABLE_STATUS
                    )
    return statuses


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


MAX_DEPTH = 12
MAX_MODULES = 3
"""Files that a module's name may match; with more it is ignored as ambiguous."""
PACKAGE = ("__init__.py", "__init__.pyi")


@dataclass(frozen=True)
class _Search:
    """One query with its memo: packages import each other in cycles, along many paths."""

    snapshot: IndexSnapshot
    known: dict[tuple[str, tuple[str, ...]], list[IndexedPlace]] = field(default_factory=dict)
    """By file and name; empty while it is being resolved."""


def resolve_name(snapshot: IndexSnapshot, dotted: str, *, importer: str = "") -> tuple[IndexedPlace, ...]:
    """Resolve a dotted name to definitions or modules.

    Such names are `pkg.module`, `pkg.Name` or `pkg.module.Class.method`; with `importer`, a path, names are
    resolved as in that file.

    Unknown parts are dropped from the end: an attribute created at run time yields its class. Names outside
    of the tree yield nothing.
    """
    return tuple(
        dict.fromkeys(_resolve_dotted(_Search(snapshot), dotted.removesuffix("()"), importer, MAX_DEPTH))
    )


def find_module_paths(snapshot: IndexSnapshot, dotted: str, *, importer: str = "") -> tuple[str, ...]:
    """Return the files that a module's name refers to, leading dots relative to `importer`."""
    name = absolute_module(dotted, importer)
    paths = [
        path
        for path in snapshot.modules_by_name.get(name.rpartition(".")[2], ())
        if f".{module_name(path)}".endswith(f".{name}")
    ]
    nearest = min((path.count("/") - path.endswith(PACKAGE) for path in paths), default=0)
    best = tuple(path for path in paths if path.count("/") - path.endswith(PACKAGE) == nearest)
    return best if name and len(best) <= MAX_MODULES else ()


def imported_files(snapshot: IndexSnapshot, path: str) -> frozenset[str]:
    names = (imported_name.dotted_name for imported_name in snapshot.imports(path))
    places = (
        place
        for name in names
        for place in resolve_name(snapshot, name, importer=path if name.startswith(".") else "")
    )
    return frozenset(place.path for place in places) - {path}


def absolute_module(dotted: str, importer: str) -> str:
    """Convert a relative module name to one from the root of the tree."""
    name = dotted.lstrip(".")
    up = len(dotted) - len(name)
    if not up:
        return name
    folders = importer.split("/")[: -up or None]
    return ".".join([*folders, *([name] if name else [])])


def _resolve_dotted(search: _Search, dotted: str, importer: str, depth: int) -> Iterator[IndexedPlace]:
    if depth == 0:
        return
    parts = dotted.split(".")
    if importer and not dotted.startswith(".") and (local := _resolve_cached(search, importer, parts, depth)):
        yield from local
        return
    leading = len(dotted) - len(dotted.lstrip("."))
    names = dotted.lstrip(".").split(".")
    for size in range(len(names), -1 if leading else 0, -1):
        modules = find_module_paths(
            search.snapshot, "." * leading + ".".join(names[:size]), importer=importer
        )
        for path in modules:
            rest = names[size:]
            places = _resolve_cached(search, path, rest, depth) if any(rest) else [IndexedPlace(path=path)]
            yield from places or [IndexedPlace(path=path)]
        if modules:
            return


def _resolve_cached(search: _Search, path: str, parts: Sequence[str], depth: int) -> list[IndexedPlace]:
    key = path, tuple(parts)
    if key not in search.known:
        search.known[key] = []
        search.known[key] = list(_resolve_in_file(search, path, parts, depth))
    return search.known[key]


def _resolve_in_file(search: _Search, path: str, parts: Sequence[str], depth: int) -> Iterator[IndexedPlace]:
    """Yield the places that names refer to in a file: its own definitions first, then its imports."""
    own = {imported_name.name: imported_name for imported_name in search.snapshot.definitions(path)}
    if parts[0] in own:
        yield from _resolve_attribute(search, path, own, parts, depth)
        return
    for imported_name in search.snapshot.imports(path):
        if imported_name.name == "*":
            for source in find_module_paths(search.snapshot, imported_name.module, importer=path):
                if source != path and depth > 1:
                    yield from _resolve_cached(search, source, parts, depth - 1)
        elif imported_name.local_name == parts[0]:
            whole = imported_name.alias or imported_name.name
            rest = list(parts[1:]) if whole else list(parts[imported_name.dotted_name.count(".") + 1 :])
            yield from _resolve_dotted(search, ".".join([imported_name.dotted_name, *rest]), path, depth - 1)


def _resolve_attribute(
    search: _Search, path: str, own: dict[str, Definition], parts: Sequence[str], depth: int
) -> Iterator[IndexedPlace]:
    """Yield the definition that most of the parts name.

    Attributes missing from a class are looked up in its bases.
    """
    size = max(size for size in range(1, len(parts) + 1) if ".".join(parts[:size]) in own)
    name = ".".join(parts[:size])
    if size < len(parts) and own[name].kind == "class" and depth > 1:
        for base in search.snapshot.bases(path).get(name, ()):
            places = [
                place
                for place in _resolve_dotted(search, f"{base}.{'.'.join(parts[size:])}", path, depth - 1)
                if place.definition and place.definition.bare_name == parts[-1]
            ]
            if places:
                yield from places
                return
    yield IndexedPlace(path=path, definition=own[name])
