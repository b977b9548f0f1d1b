"""Parsing of files for the index, in worker processes where there are many."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from queue import SimpleQueue
from typing import Any

from coder.files.tokenize import WORD, identifier_terms
from coder.index.parsers import Definition, FileFacts, parse_facts
from coder.permissions.secrets import Secrets

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


@dataclass(frozen=True, kw_only=True)
class IndexPart:
    files: list[FileRow]
    terms: dict[str, bytes]
    """By kind and text: unsigned ints. Defined, derived, tokens: document << 8 | in the name << 7 | count;
    used: file, count, lines."""


@dataclass(frozen=True, kw_only=True)
class ParsedBatch:
    """A parsed batch without document numbers."""

    found: list[tuple[int, str, FileFacts]]

    @property
    def document_count(self) -> int:
        return sum(len(facts.definitions) + 1 for _, _, facts in self.found)

    def number_documents(self, first_document: int) -> IndexPart:
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
    facts: list[tuple[int, str, FileFacts]] = []
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


def _row(identity: int, text: str, facts: FileFacts, first_document: int, terms: _Terms) -> FileRow:
    for number, definition in enumerate(facts.definitions, first_document + 1):
        if len(definition.bare_name) <= LONGEST_NAME:
            terms.defined[definition.bare_name].append(number << 8)
        for base in facts.bases.get(definition.name, ()) if definition.kind != "variable" else ():
            terms.derived[base.rpartition(".")[2]].append(number << 8)
    for name, lines in facts.uses.items():
        if len(name) <= LONGEST_NAME:
            terms.used[name] += (identity, len(lines), *lines)
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
    )


def _add_tokens(
    text: str, facts: FileFacts, first_document: int, tokens: dict[str, list[int]]
) -> "array[int]":
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
    "import sys; sys.path[:] = sys.argv[1:]; from coder.index.parsing import serve_batches; serve_batches()"
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


def split_documents(text: str, definitions: Sequence[Definition]) -> Iterator[tuple[int, Mapping[str, int]]]:
    """Yield ordinal and term counts of each non-empty document; 0 is the module, n the n-th definition.

    A function has all its lines, a class those outside of its methods and inner classes, the module the rest.
    Variables and definitions inside functions are not documents.
    """
    lines = text.split("\n")
    owners = _owners(len(lines), definitions)
    pieces: dict[int, list[str]] = {}
    start = 0
    for owner, run in groupby(owners):
        end = start + sum(1 for _ in run)
        pieces.setdefault(owner, []).extend(lines[start:end])
        start = end
    for owner in sorted(pieces):
        if words := _words("\n".join(pieces[owner])):
            yield owner, words


def _words(text: str) -> dict[str, int]:
    """Count terms as `coder.files.tokenize.count_terms` does."""
    counts: dict[str, int] = {}
    for word, count in Counter(WORD.findall(text)).items():
        for part in identifier_terms(word):
            counts[part] = counts.get(part, 0) + count
    return counts


def _owners(lines: int, definitions: Sequence[Definition]) -> list[int]:
    owners = [0] * lines
    function_end = 0
    for ordinal, definition in enumerate(definitions, 1):
        if definition.kind == "variable" or definition.start <= function_end:
            continue
        last = min(definition.end, lines)
        owners[definition.start - 1 : last] = [ordinal] * (last - definition.start + 1)
        if definition.kind in ("function", "method"):
            function_end = last
    return owners
