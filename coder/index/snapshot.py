"""What a tree defines and uses at one moment."""

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from coder.index.database import Database
from coder.index.definition import Definition
from coder.index.near import nearest
from coder.index.parsers.facts import Import
from coder.index.parsing import DEFINED, DERIVED, TOKEN, USED, defined, loaded


@dataclass(frozen=True, kw_only=True)
class Place:
    """A definition, or a module itself, in a file."""

    path: str
    definition: Definition | None = None
    """None: the module."""


def module_of(path: str) -> str:
    """The dotted name of a Python file as if its root were on the path: `src.shop.box`, a package without `__init__`."""
    return path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True, kw_only=True)
class Use:
    """Where a file uses a name."""

    path: str
    lines: tuple[int, ...]
    """From 1, ascending."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A tree as it stood when it was last looked at; all paths are relative to its root."""

    root: Path
    paths: tuple[str, ...]
    """Every file that git does not ignore, sorted."""
    sources: Mapping[str, int]
    """The indexed files, each with the id of its content: two equal files share one."""
    database: Database
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _known: dict[str, tuple[Definition, ...]] = field(default_factory=dict)

    def definitions(self, path: str) -> tuple[Definition, ...]:
        """Those of a file in the order they stand in; none where it is not indexed."""
        if path not in self._known:
            self._known[path] = defined(self._column(path, "definitions"))
        return self._known[path]

    def imports(self, path: str) -> tuple[Import, ...]:
        """What a file imports, in order."""
        rows = json.loads(self._column(path, "imports") or "[]")
        return tuple(
            Import(module=module, name=name, alias=alias, line=line) for module, name, alias, line in rows
        )

    def bases(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """The base classes of each class of a file, as written, by its qualified name."""
        return {name: tuple(bases) for name, bases in json.loads(self._column(path, "bases") or "{}").items()}

    def names(self, path: str) -> tuple[str, ...]:
        """The identifiers that a file uses as code, and not only defines, sorted."""
        return tuple(filter(None, self._column(path, "names").split("\n")))

    def _column(self, path: str, column: Literal["definitions", "imports", "bases", "names"]) -> str:
        identity = self.sources.get(path)
        return self.database.facts(identity, column) if identity is not None else ""

    def defined(self, name: str) -> tuple[Place, ...]:
        """Every definition with this bare name, by path and line."""
        return self._places(DEFINED + name)

    def definers(self, name: str) -> tuple[str, ...]:
        """The files that define a bare name, sorted; much cheaper than `defined` where there are hundreds."""
        files = {self._file(entry >> 8)[0] for entry in self.database.entries(DEFINED + name)}
        return tuple(sorted(path for identity in files for path in self._paths.get(identity, ())))

    def subclasses(self, name: str) -> tuple[Place, ...]:
        """Every class that names this one, bare, among its bases."""
        return self._places(DERIVED + name)

    def used(self, name: str) -> tuple[Use, ...]:
        """The lines where a bare name is an identifier in code, definitions and imports included, by path."""
        return tuple(sorted(self._uses(name), key=lambda use: use.path))

    def _uses(self, name: str) -> Iterator[Use]:
        numbers = self.database.entries(USED + name)
        position = 0
        while position < len(numbers):
            identity, count = numbers[position], numbers[position + 1]
            position += 2
            if identity in self._paths:
                lines = tuple(numbers[position : position + count])
                yield from (Use(path=path, lines=lines) for path in self._paths[identity])
            position += count

    def similar(self, name: str, count: int = 5) -> tuple[str, ...]:
        """Defined names that a misspelt one may mean, likeliest first."""
        return nearest(name, self.database.terms(DEFINED), count)

    def postings(self, token: str) -> "array[int]":
        """The documents that hold a word: document << 8 | in its name << 7 | count up to 127; those of older contents are among them."""
        return self.database.entries(TOKEN + token)

    def document(self, number: int) -> tuple[Place, ...]:
        """Where a document stands; nowhere when it is of an older content, in several places when files are equal."""
        identity, ordinal = self._file(number)
        paths = self._paths.get(identity, ())
        if not paths:
            return ()
        definition = loaded(json.loads(self._lines(identity)[ordinal - 1])) if ordinal else None
        return tuple(Place(path=path, definition=definition) for path in paths)

    @cached_property
    def lengths(self) -> "array[int]":
        """The number of words of each document, by its number; 0 for those that are gone."""
        found = array("H")
        for identity, first, lengths in self._contents:
            found.frombytes(bytes(2 * (first - len(found))))
            found.frombytes(lengths if identity in self._paths else bytes(len(lengths)))
        return found

    @cached_property
    def contents(self) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
        """Of each content that stands: its first document, how many it has, and the files that hold it."""
        return tuple(
            (first, len(lengths) // 2, tuple(self._paths[identity]))
            for identity, first, lengths in self._contents
            if identity in self._paths
        )

    @cached_property
    def average_length(self) -> float:
        """Of documents that have words."""
        return sum(self.lengths) / max(1, len(self.lengths) - self.lengths.count(0))

    @cached_property
    def modules(self) -> Mapping[str, tuple[str, ...]]:
        """The Python files by the last part of their module's name, empty ones included."""
        found: dict[str, list[str]] = {}
        for path in self.paths:
            if path.endswith((".py", ".pyi")):
                found.setdefault(module_of(path).rpartition(".")[2], []).append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    @cached_property
    def _paths(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for path, identity in self.sources.items():
            found.setdefault(identity, []).append(path)
        return found

    @cached_property
    def _contents(self) -> list[tuple[int, int, bytes]]:
        return self.database.lengths()

    @cached_property
    def _firsts(self) -> list[int]:
        return [first for _, first, _ in self._contents]

    def _file(self, document: int) -> tuple[int, int]:
        """The content that a document is of, and its ordinal there."""
        index = bisect_right(self._firsts, document) - 1
        identity, first, lengths = self._contents[index] if index >= 0 else (0, 0, b"")
        ordinal = document - first
        return (identity, ordinal) if ordinal * 2 < len(lengths) else (0, 0)

    def _places(self, term: str) -> tuple[Place, ...]:
        found = [place for entry in self.database.entries(term) for place in self.document(entry >> 8)]
        return tuple(
            sorted(found, key=lambda place: (place.path, place.definition.line if place.definition else 0))
        )

    def _lines(self, identity: int) -> list[str]:
        if identity not in self._texts:
            self._texts[identity] = self.database.facts(identity, "definitions").split("\n")
        return self._texts[identity]
