"""Definitions and uses of a tree at one moment, and their storage.

The storage is SQLite, keyed by content, shared by processes and worktrees, rebuilt when damaged.
"""

import difflib
import json
import os
import sqlite3
import threading
import time
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from coder.index.parsers import Definition, Import
from coder.index.parsing import (
    DEFINED,
    DOCUMENT_BITS,
    TOKEN,
    USED,
    IndexPart,
    definition_from_row,
    load_definitions,
)

WAIT_SECONDS = 120.0
MAX_CONTENTS_PER_FILE = 3
"""A database with more contents than this multiple of the tree's files is rebuilt: deleting single contents
is slower."""
SPARE_CONTENTS = 2000
MAX_DATABASE_BYTES = 1 << 30
"""Limit of all databases of a directory; the least recently used are removed first."""
SCHEMA = """
CREATE TABLE meta (format TEXT, epoch INTEGER, next_document INTEGER);
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB UNIQUE NOT NULL, first_document INTEGER, lengths BLOB
);
CREATE TABLE facts (id INTEGER PRIMARY KEY, definitions TEXT, imports TEXT, bases TEXT);
CREATE TABLE term (text TEXT, first_document INTEGER, entries BLOB, PRIMARY KEY (text, first_document))
    WITHOUT ROWID;
CREATE TABLE tree (root BLOB PRIMARY KEY, used REAL, listing TEXT);
"""
CUTOFF = 0.7
"""Of similar names, as in `difflib`."""
TABLES = ("file", "facts", "term", "tree", "meta")


class Database:
    """A database connection for use by any thread; closed with its last user, who may be any snapshot."""

    def __init__(self, path: Path | None) -> None:
        """Open or create the database; None is in memory.

        Raises:
            sqlite3.OperationalError: it cannot be stored there.
        """
        self._path = path
        self._lock = threading.RLock()
        self.damaged = False
        """Whether invalid data was read, so that the database must be rebuilt."""
        try:
            self._connection = self._open()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._remove()
            self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            _make_room(self._path)
            if self._path.exists():
                os.utime(self._path)
        place = ":memory:" if self._path is None else os.fspath(self._path)
        connection = sqlite3.connect(
            place, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        close = weakref.finalize(self, connection.close)
        try:
            _prepare(connection)
        except sqlite3.Error:
            close()
            raise
        return connection

    def _remove(self) -> None:
        for ending in ("", "-wal", "-shm"):
            if self._path is not None:
                Path(f"{self._path}{ending}").unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def rebuild(self) -> None:
        with self._lock:
            self._connection.close()
            self._remove()
            self._connection = self._open()
            self.damaged = False

    def clear(self) -> None:
        """Delete the content inside a transaction; other processes notice by the epoch."""
        _create_tables(self._connection)

    @contextmanager
    def write_transaction(self) -> Iterator[None]:
        """Run one transaction; other writers wait."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                self.damaged = True
                return []

    @property
    def epoch(self) -> int:
        """Identifier that changes whenever the content is deleted."""
        return next((epoch for (epoch,) in self._rows("SELECT epoch FROM meta")), 0)

    @property
    def content_count(self) -> int:
        return next((count for (count,) in self._rows("SELECT count(*) FROM file")), 0)

    def load_listing(self, root: bytes) -> Any:
        """Return the stored listing of a tree, or None."""
        return next(
            (json.loads(text) for (text,) in self._rows("SELECT listing FROM tree WHERE root = ?", root)),
            None,
        )

    def store_listing(self, root: bytes, listing: object) -> None:
        with self._lock:
            text = json.dumps(listing, separators=(",", ":"))
            self._connection.execute(
                "INSERT OR REPLACE INTO tree VALUES (?, ?, ?)", (root, time.time(), text)
            )

    def stored_ids(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        return {
            key: rows[0][0] for key in keys if (rows := self._rows("SELECT id FROM file WHERE key = ?", key))
        }

    def add_files(
        self, files: Mapping[bytes, tuple[int, str, str]], parse: Callable[..., Iterable[IndexPart]]
    ) -> dict[bytes, int]:
        """Parse and store files given as key: (size, path, absolute path), inside a transaction.

        Files that changed in the meantime are skipped.
        """
        ids = {
            key: self._connection.execute("INSERT INTO file (key) VALUES (?)", (key,)).lastrowid
            for key in files
        }
        jobs = [(size, ids[key], key, path, absolute) for key, (size, path, absolute) in files.items()]
        first_document = count = self._connection.execute("SELECT next_document FROM meta").fetchone()[0]
        parts: list[IndexPart] = []
        for part in parse(jobs):
            parts.append(part.number_documents(count))
            count += part.document_count
        self._store(parts, first_document)
        self._connection.execute("UPDATE meta SET next_document = ?", (count,))
        self._connection.execute("DELETE FROM file WHERE first_document IS NULL")
        return self.stored_ids(files)

    def _store(self, parts: Sequence[IndexPart], first_document: int) -> None:
        files = [row for part in parts for row in part.files]
        rows = [(row.first_document, row.lengths, row.id) for row in files]
        self._connection.executemany("UPDATE file SET first_document = ?, lengths = ? WHERE id = ?", rows)
        facts = [(row.id, row.definitions, row.imports, row.bases) for row in files]
        self._connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?)", facts)
        pieces: dict[str, list[bytes]] = {}
        for part in parts:
            for text, entries in part.terms.items():
                pieces.setdefault(text, []).append(entries.tobytes())
        self._connection.executemany(
            "INSERT INTO term VALUES (?, ?, ?)",
            ((text, first_document, b"".join(pieces[text])) for text in sorted(pieces)),
        )

    def term_entries(self, term: str) -> "array[int]":
        numbers = array("I")
        for (piece,) in self._rows("SELECT entries FROM term WHERE text = ? ORDER BY first_document", term):
            numbers.frombytes(piece)
        return numbers

    def defined_names(self) -> list[str]:
        """Return all bare names of definitions, sorted."""
        after = chr(ord(DEFINED) + 1)
        query = "SELECT DISTINCT text FROM term WHERE text >= ? AND text < ? ORDER BY text"
        return [text[1:] for (text,) in self._rows(query, DEFINED, after)]

    def stored_facts(self, identity: int, column: Literal["definitions", "imports", "bases"]) -> str:
        """Return one column of a content's facts, as in `FileRow`; empty where it is not stored."""
        return next(
            (text for (text,) in self._rows(f"SELECT {column} FROM facts WHERE id = ?", identity)), ""
        )

    def document_lengths(self) -> list[tuple[int, int, bytes]]:
        """Return id, first document and lengths of each content."""
        return self._rows("SELECT id, first_document, lengths FROM file ORDER BY first_document")


@cache
def _format() -> str:
    """Return a hash of the code that determines the stored data."""
    folder = Path(__file__).parent
    package = folder.parent
    sources = [
        *sorted(folder.glob("**/*.py")),
        *(package / "files" / f"{name}.py" for name in ("tokenize", "ripgrep")),
        package / "permissions" / "secrets.py",
    ]
    return sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA page_size = 16384")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA journal_size_limit = 1000000")
    connection.execute("PRAGMA synchronous = OFF")
    if not _is_current(connection):
        connection.execute("BEGIN IMMEDIATE")
        if not _is_current(connection):
            _create_tables(connection)
        connection.execute("COMMIT")


def _is_current(connection: sqlite3.Connection) -> bool:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables.issuperset(TABLES):
        return False
    stored_format, document = connection.execute("SELECT format, next_document FROM meta").fetchone() or (
        "",
        0,
    )
    return bool(stored_format == _format() and document < 1 << DOCUMENT_BITS - 1)


def _create_tables(connection: sqlite3.Connection) -> None:
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in SCHEMA.split(";")[:-1]:
        connection.execute(statement)
    connection.execute("INSERT INTO meta VALUES (?, ?, 0)", (_format(), time.time_ns()))


def _make_room(path: Path) -> None:
    """Remove the least recently used databases where all together are too large."""
    path.parent.mkdir(parents=True, exist_ok=True)
    databases = sorted(path.parent.glob("*.sqlite"), key=lambda other: other.stat().st_mtime)
    room = MAX_DATABASE_BYTES - sum(other.stat().st_size for other in databases)
    for other in databases:
        if room < 0 and other != path:
            room += other.stat().st_size
            other.unlink(missing_ok=True)


@dataclass(frozen=True, kw_only=True)
class IndexedPlace:
    """A definition, or a module itself, in a file."""

    path: str
    definition: Definition | None = None
    """None: the module."""


def module_name(path: str) -> str:
    """Return the dotted name of a Python file relative to the root: `src.shop.box`.

    A package without `__init__`.
    """
    return path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True, kw_only=True)
class NameUse:
    path: str
    lines: tuple[int, ...]
    """From 1, ascending."""


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexSnapshot:
    """Index of a tree at its last update; all paths are relative to its root."""

    root: Path
    paths: tuple[str, ...]
    """Every file that git does not ignore, sorted."""
    sources: Mapping[str, int]
    """The indexed files, each with the id of its content: equal files share one."""
    database: Database
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _known: dict[str, tuple[Definition, ...]] = field(default_factory=dict)

    def definitions(self, path: str) -> tuple[Definition, ...]:
        """Return a file's definitions in source order; empty where it is not indexed."""
        if path not in self._known:
            self._known[path] = load_definitions(self._column(path, "definitions"))
        return self._known[path]

    def imports(self, path: str) -> tuple[Import, ...]:
        """Return the imports of a file, in order."""
        rows = json.loads(self._column(path, "imports") or "[]")
        return tuple(
            Import(module=module, name=name, alias=alias, line=line) for module, name, alias, line in rows
        )

    def bases(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Return the base classes of each class of a file, as written, by its qualified name."""
        return {name: tuple(bases) for name, bases in json.loads(self._column(path, "bases") or "{}").items()}

    def _column(self, path: str, column: Literal["definitions", "imports", "bases"]) -> str:
        identity = self.sources.get(path)
        return self.database.stored_facts(identity, column) if identity is not None else ""

    def definitions_named(self, name: str) -> tuple[IndexedPlace, ...]:
        """Return every definition with this bare name, by path and line."""
        return self._places(DEFINED + name)

    def defined_names(self) -> tuple[str, ...]:
        """Return all bare names of definitions, sorted; those of outdated contents are included."""
        return tuple(self.database.defined_names())

    def files_defining(self, name: str) -> tuple[str, ...]:
        """Return the files that define a bare name, sorted; much cheaper than `defined` for hundreds."""
        files = {self._file(entry >> 8)[0] for entry in self.database.term_entries(DEFINED + name)}
        return tuple(sorted(path for identity in files for path in self._paths.get(identity, ())))

    def uses_of_name(self, name: str) -> tuple[NameUse, ...]:
        """Return the lines where a bare name occurs in code, including definitions and imports, by path."""
        return tuple(sorted(self._uses(name), key=lambda use: use.path))

    def _uses(self, name: str) -> Iterator[NameUse]:
        numbers = self.database.term_entries(USED + name)
        position = 0
        while position < len(numbers):
            identity, count = numbers[position], numbers[position + 1]
            position += 2
            if identity in self._paths:
                lines = tuple(numbers[position : position + count])
                yield from (NameUse(path=path, lines=lines) for path in self._paths[identity])
            position += count

    def similar_names(self, name: str, count: int = 5) -> tuple[str, ...]:
        """Return defined names similar to a misspelled one, likeliest first."""
        names = {_normalize(other): other for other in self.defined_names() if other != name}
        near = difflib.get_close_matches(_normalize(name), names, n=count, cutoff=CUTOFF)
        return tuple(names[other] for other in near)

    def postings(self, token: str) -> "array[int]":
        """Return the documents that contain a word: document << 8 | in its name << 7 | count up to 127.

        Documents of outdated contents are included.
        """
        return self.database.term_entries(TOKEN + token)

    def document_places(self, number: int) -> tuple[IndexedPlace, ...]:
        """Return the places of a document: none when its content is outdated, several for equal files."""
        identity, ordinal = self._file(number)
        paths = self._paths.get(identity, ())
        if not paths:
            return ()
        definition = definition_from_row(json.loads(self._lines(identity)[ordinal - 1])) if ordinal else None
        return tuple(IndexedPlace(path=path, definition=definition) for path in paths)

    @cached_property
    def lengths(self) -> "array[int]":
        """Number of words of each document, by its number; 0 for outdated ones."""
        word_counts = array("H")
        for identity, first, lengths in self._contents:
            word_counts.frombytes(bytes(2 * (first - len(word_counts))))
            word_counts.frombytes(lengths if identity in self._paths else bytes(len(lengths)))
        return word_counts

    @cached_property
    def document_ranges(self) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """First document, number of documents and files of each current content."""
        return tuple(
            (first, len(lengths) // 2, tuple(self._paths[identity]))
            for identity, first, lengths in self._contents
            if identity in self._paths
        )

    @cached_property
    def modules_by_name(self) -> Mapping[str, tuple[str, ...]]:
        """Python files by the last part of their module's name, empty files included."""
        paths_by_name: dict[str, list[str]] = {}
        for path in self.paths:
            if path.endswith((".py", ".pyi")):
                paths_by_name.setdefault(module_name(path).rpartition(".")[2], []).append(path)
        return {name: tuple(paths) for name, paths in paths_by_name.items()}

    @cached_property
    def _paths(self) -> dict[int, list[str]]:
        paths_by_id: dict[int, list[str]] = {}
        for path, identity in self.sources.items():
            paths_by_id.setdefault(identity, []).append(path)
        return paths_by_id

    @cached_property
    def _contents(self) -> list[tuple[int, int, bytes]]:
        return self.database.document_lengths()

    @cached_property
    def _firsts(self) -> list[int]:
        return [first for _, first, _ in self._contents]

    def _file(self, document: int) -> tuple[int, int]:
        """Return the content id of a document, and its ordinal there."""
        index = bisect_right(self._firsts, document) - 1
        identity, first, lengths = self._contents[index] if index >= 0 else (0, 0, b"")
        ordinal = document - first
        return (identity, ordinal) if ordinal * 2 < len(lengths) else (0, 0)

    def _places(self, term: str) -> tuple[IndexedPlace, ...]:
        places = [
            place for entry in self.database.term_entries(term) for place in self.document_places(entry >> 8)
        ]
        return tuple(
            sorted(places, key=lambda place: (place.path, place.definition.line if place.definition else 0))
        )

    def _lines(self, identity: int) -> list[str]:
        if identity not in self._texts:
            self._texts[identity] = self.database.stored_facts(identity, "definitions").split("\n")
        return self._texts[identity]


def _normalize(name: str) -> str:
    return name.replace("_", "").lower()
