"""Definitions and uses of a tree at one moment."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal

from coder.files.tokenize import identifier_terms
from coder.index.database import Database
from coder.index.index import similar_names, split_documents
from coder.index.parsers import Definition, Facts, Import, parse_facts
from coder.permissions.secrets import Secrets


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
    """Uses of a name in one file."""

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

    def subclasses(self, name: str) -> tuple[IndexedPlace, ...]:
        """Return every class with this bare name among its bases."""
        return self._places(DERIVED + name)

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


MOST_COUNT = 127
IN_NAME = 128
LONGEST_LENGTH = 65_535
DOCUMENT_BITS = 24
LONGEST_NAME = 200
_SHAPES_ONLY = Secrets()
Job = tuple[int, int, bytes, str, str]
"""Size, id, key, path and absolute path of a file."""
DEFINED, USED, TOKEN, DERIVED = "d", "u", "t", "b"
"""Kinds of terms, by their first letter: a defined bare name, a used one, a word, a base class."""


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """One file's content in the index."""

    id: int
    first_document: int
    lengths: bytes
    """An unsigned short for each document: its number of words."""
    definitions: str
    """One line of JSON each, in source order."""
    imports: str
    bases: str
    names: str
    """Identifiers that it uses, not only defines, sorted, one per line."""


@dataclass(frozen=True, kw_only=True)
class IndexPart:
    """Index entries of a batch of files."""

    files: list[FileRow]
    terms: dict[str, bytes]
    """By kind and text: unsigned ints. Defined, derived, tokens: document << 8 | in the name << 7 | count;
    used: file, count, lines."""


@dataclass(frozen=True, kw_only=True)
class ParsedBatch:
    """A parsed batch without document numbers."""

    found: list[tuple[int, str, Facts]]
    """Id, text and facts of each file."""

    @property
    def document_count(self) -> int:
        """Count of document numbers that it needs."""
        return sum(len(facts.definitions) + 1 for _, _, facts in self.found)

    def number_documents(self, first_document: int) -> IndexPart:
        """Assign numbers to the documents, from `first_document` on."""
        terms = _Terms()
        rows: list[FileRow] = []
        for identity, text, facts in self.found:
            rows.append(_row(identity, text, facts, first_document, terms))
            first_document += len(facts.definitions) + 1
        return IndexPart(files=rows, terms=terms.pack())


class _Terms:
    """Entries by term, a mapping for each kind."""

    def __init__(self) -> None:
        self.defined: dict[str, list[int]] = defaultdict(list)
        self.used: dict[str, list[int]] = defaultdict(list)
        self.tokens: dict[str, list[int]] = defaultdict(list)
        self.derived: dict[str, list[int]] = defaultdict(list)

    def pack(self) -> dict[str, bytes]:
        """Return the entries as packed unsigned ints, by kind and text."""
        kinds = ((DEFINED, self.defined), (USED, self.used), (TOKEN, self.tokens), (DERIVED, self.derived))
        return {
            kind + text: array("I", numbers).tobytes()
            for kind, lines_by_text in kinds
            for text, numbers in lines_by_text.items()
        }


def parse_files(files: Sequence[Job]) -> ParsedBatch:
    """Parse files with secrets masked; skip a file whose content does not match its key."""
    facts: list[tuple[int, str, Facts]] = []
    for _, identity, key, path, absolute in files:
        data = read_bytes(absolute)
        if data is not None and content_key(path, data) == key:
            text = "" if b"\0" in data else _SHAPES_ONLY.mask(data.decode("utf-8", "replace"))
            facts.append((identity, text, parse_facts(path, text)))
    return ParsedBatch(found=facts)


def read_bytes(absolute: str) -> bytes | None:
    """Return a file's content, or None where it cannot be read."""
    try:
        with open(absolute, "rb") as file:  # noqa: PTH123  # called thousands of times
            return file.read()
    except OSError:
        return None


def content_key(path: str, data: bytes) -> bytes:
    """Return the key of a content: equal for the same bytes in the same language."""
    return blake2b(
        data, digest_size=16, person=path.rpartition(".")[2][-16:].encode("ascii", "replace")
    ).digest()


def _row(identity: int, text: str, facts: Facts, first_document: int, terms: _Terms) -> FileRow:
    for number, definition in enumerate(facts.definitions, first_document + 1):
        if len(definition.bare_name) <= LONGEST_NAME:
            terms.defined[definition.bare_name].append(number << 8)
        for base in facts.bases.get(definition.name, ()) if definition.kind != "variable" else ():
            terms.derived[base.rpartition(".")[2]].append(number << 8)
    names = [name for name in facts.uses if len(name) <= LONGEST_NAME]
    for name in names:
        lines = facts.uses[name]
        terms.used[name] += (identity, len(lines), *lines)
    defining_lines: dict[str, set[int]] = defaultdict(set)
    for definition in facts.definitions:
        defining_lines[definition.bare_name].add(definition.line)
    lengths = _add_tokens(text, facts, first_document, terms.tokens)
    return FileRow(
        id=identity,
        first_document=first_document,
        lengths=lengths.tobytes(),
        definitions="\n".join(map(dump_definition, facts.definitions)),
        imports=_json(
            [
                (definition.module, definition.name, definition.alias, definition.line)
                for definition in facts.imports
            ]
        ),
        bases=_json(facts.bases),
        names="\n".join(
            sorted(
                name
                for name in names
                if name not in defining_lines or not defining_lines[name].issuperset(facts.uses[name])
            )
        ),
    )


def _add_tokens(text: str, facts: Facts, first_document: int, tokens: dict[str, list[int]]) -> "array[int]":
    """Add the words of each document, and return the number of words of each."""
    lengths = array("H", bytes(2 * (len(facts.definitions) + 1)))
    for ordinal, words in split_documents(text, facts.definitions):
        lengths[ordinal] = min(sum(words.values()), LONGEST_LENGTH)
        number = (first_document + ordinal) << 8
        for word, count in words.items():
            tokens[word].append(number + (count if count < MOST_COUNT else MOST_COUNT))
        for word in identifier_terms(facts.definitions[ordinal - 1].bare_name) if ordinal else ():
            if word in words:
                tokens[word][-1] |= IN_NAME
    return lengths


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump_definition(definition: Definition) -> str:
    """Serialize one definition as a line of text."""
    return _json(
        (
            definition.name,
            definition.kind,
            definition.start,
            definition.line,
            definition.end,
            definition.signature,
            definition.summary,
            *definition.docstring,
        )
    )


def load_definitions(lines: str) -> tuple[Definition, ...]:
    """Deserialize all definitions of a file from lines written by `dump_definition`."""
    return tuple(map(definition_from_row, json.loads(f"[{lines.replace(chr(10), ',')}]")))


def definition_from_row(row: Sequence[Any]) -> Definition:
    """Deserialize one definition from the JSON value written by `dump_definition`."""
    *fields, first, last = row
    return Definition._make((*fields, (first, last)))


SMALL_BYTES = 1_500_000
"""Less than this is parsed faster than a process starts."""
BATCH_BYTES = 1_000_000
BATCHES = 4
"""Batches for each worker, where that makes larger ones: terms are stored once per batch."""
LARGEST_BATCH_BYTES = 4_000_000
MOST_WORKERS = 8
SCRIPT = (
    "import sys; sys.path[:] = sys.argv[1:]; from coder.index.snapshot import serve_batches; serve_batches()"
)
Batch = Sequence[Job]
Allocate = Callable[[int], int]
"""Allocates so many consecutive document numbers and returns the first."""


def parse_in_workers(files: Sequence[Job], allocate: Allocate) -> Iterator[IndexPart]:
    """Parse files, on all cores where that pays off."""
    total = sum(size for size, *_ in files)
    workers = min(os.cpu_count() or 1, total // SMALL_BYTES + 1, MOST_WORKERS)
    batches = list(_batches(files, min(max(BATCH_BYTES, total // (workers * BATCHES)), LARGEST_BATCH_BYTES)))
    locked_allocate = _with_lock(allocate)
    if workers < 2:
        for batch in batches:
            parsed = parse_files(batch)
            yield parsed.number_documents(locked_allocate(parsed.document_count))
        return
    idle: SimpleQueue[_Worker] = SimpleQueue()
    all_workers = [_Worker() for _ in range(workers)]
    for worker in all_workers:
        idle.put(worker)

    def parse_batch(batch: Batch) -> IndexPart:
        worker = idle.get()
        try:
            return worker.part(batch, locked_allocate)
        finally:
            idle.put(worker)

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="index") as pool:
            yield from pool.map(parse_batch, batches)
    finally:
        for worker in all_workers:
            worker.end()


def _batches(files: Sequence[Job], most: int) -> Iterator[Batch]:
    batch: list[Job] = []
    room = most
    for file in files:
        batch.append(file)
        room -= file[0]
        if room < 0:
            yield batch
            batch, room = [], most
    if batch:
        yield batch


def _with_lock(allocate: Allocate) -> Allocate:
    lock = threading.Lock()

    def locked_allocate(count: int) -> int:
        with lock:
            return allocate(count)

    return locked_allocate


class _Worker:
    """One process; where it fails, its batches are parsed in this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", SCRIPT, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                start_new_session=True,
            )
        except OSError:
            return

    def part(self, batch: Batch, allocate: Allocate) -> IndexPart:
        """Parse a batch in the worker process, or here where it fails."""
        try:
            count = self._ask(batch)
            part = self._ask(allocate(count)) if isinstance(count, int) else None
            if isinstance(part, IndexPart):
                return part
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
        parsed = parse_files(batch)
        return parsed.number_documents(allocate(parsed.document_count))

    def _ask(self, question: object) -> object:
        if self._process is None or self._process.stdin is None or self._process.stdout is None:
            raise EOFError
        pickle.dump(question, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def end(self) -> None:
        """Kill the process; may be called twice."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def serve_batches() -> None:
    """Answer each batch with its number of documents, and the following number with the part.

    Ends with the input.
    """
    gc.disable()  # nothing here forms reference cycles, and there are millions of objects to traverse
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    parsed = ParsedBatch(found=[])
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            return
        if isinstance(question, int):
            answer: object = parsed.number_documents(question)
        else:
            parsed = parse_files(question)
            answer = parsed.document_count
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()
