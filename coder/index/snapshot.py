"""Definitions and uses of a tree at one moment."""

import difflib
import heapq
import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from coder.index.database import Database
from coder.index.parsers import Definition, Import
from coder.index.parsing import DEFINED, TOKEN, USED, definition_from_row, load_definitions


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

    def used_names(self, path: str) -> tuple[str, ...]:
        """Return the identifiers that a file uses as code, not only defines, sorted."""
        return tuple(filter(None, self._column(path, "names").split("\n")))

    def _column(self, path: str, column: Literal["definitions", "imports", "bases", "names"]) -> str:
        identity = self.sources.get(path)
        return self.database.stored_facts(identity, column) if identity is not None else ""

    def definitions_named(self, name: str) -> tuple[IndexedPlace, ...]:
        """Return every definition with this bare name, by path and line."""
        return self._places(DEFINED + name)

    def defined_names(self) -> tuple[str, ...]:
        """Return all bare names of definitions, sorted; those of outdated contents are included."""
        return tuple(sorted(self.database.terms_of_kind(DEFINED)))

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
        return similar_names(name, self.database.terms_of_kind(DEFINED), count)

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
    def average_length(self) -> float:
        """Average number of words of non-empty documents."""
        return sum(self.lengths) / max(1, len(self.lengths) - self.lengths.count(0))

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


MOST_COMPARED = 60
CUTOFF = 0.7


def similar_names(name: str, names: Iterable[str], count: int) -> tuple[str, ...]:
    """Return the most similar names, best first.

    Names equal but for case and underscores lead, then those that share most letter pairs.
    """
    plain_name = _normalize(name)
    pairs = _pairs(plain_name)
    shared = (
        (_likeness(plain_name, pairs, _normalize(candidate)), candidate)
        for candidate in names
        if abs(len(candidate) - len(name)) <= max(4, len(name) // 2)
    )
    likely = heapq.nlargest(MOST_COMPARED, (pair for pair in shared if pair[0] >= 0.5))
    ratios = [
        (difflib.SequenceMatcher(None, plain_name, _normalize(candidate)).ratio(), candidate)
        for _, candidate in likely
        if candidate != name
    ]
    return tuple(
        candidate
        for score, candidate in sorted(ratios, key=lambda pair: (-pair[0], pair[1]))[:count]
        if score >= CUTOFF
    )


def _normalize(name: str) -> str:
    return re.sub("_", "", name).lower()


def _pairs(word: str) -> set[str]:
    return {word[place : place + 2] for place in range(len(word) - 1)} or {word}


def _likeness(name: str, pairs: set[str], other: str) -> float:
    """Return Dice's coefficient of the letter pairs."""
    if name == other:
        return 1.0
    others = _pairs(other)
    return 2 * len(pairs & others) / (len(pairs) + len(others))
