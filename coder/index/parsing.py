"""Parsing of files for the index, in worker processes where there are many."""

import gc
import json
import os
import pickle
import subprocess
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import Any

from coder.files.tokenize import count_terms, identifier_terms
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
DEFINED, USED, TOKEN = "d", "u", "t"
"""Kinds of terms, by their first letter: a defined bare name, a used one, a word."""


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
    terms: dict[str, "array[int]"]
    """By kind and text: unsigned ints. Defined, tokens: document << 8 | in the name << 7 | count; used: file,
    count, lines."""
    document_count: int

    def number_documents(self, first_document: int) -> "IndexPart":
        """Return the part with other numbers of its documents, which begin at 0."""
        shift = first_document << 8
        return IndexPart(
            files=[replace(row, first_document=row.first_document + first_document) for row in self.files],
            terms={
                text: numbers if text[0] == USED else array("I", [number + shift for number in numbers])
                for text, numbers in self.terms.items()
            },
            document_count=self.document_count,
        )


def parse_files(files: Sequence[Job]) -> IndexPart:
    """Parse files with secrets masked; skip a file whose content does not match its key."""
    terms: dict[str, array[int]] = defaultdict(lambda: array("I"))
    rows: list[FileRow] = []
    count = 0
    for _, identity, key, path, absolute in files:
        data = read_bytes(absolute)
        if data is not None and content_key(path, data) == key:
            text = "" if b"\0" in data else _SHAPES_ONLY.mask(data.decode("utf-8", "replace"))
            facts = parse_facts(path, text)
            rows.append(_row(identity, text, facts, count, terms))
            count += len(facts.definitions) + 1
    return IndexPart(files=rows, terms=dict(terms), document_count=count)


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


def _row(
    identity: int, text: str, facts: FileFacts, first_document: int, terms: dict[str, "array[int]"]
) -> FileRow:
    for number, definition in enumerate(facts.definitions, first_document + 1):
        if len(definition.bare_name) <= LONGEST_NAME:
            terms[DEFINED + definition.bare_name].append(number << 8)
    for name, lines in facts.uses.items():
        if len(name) <= LONGEST_NAME:
            terms[USED + name].extend((identity, len(lines), *lines))
    lengths = array("H", bytes(2 * (len(facts.definitions) + 1)))
    for ordinal, words in split_documents(text, facts.definitions):
        lengths[ordinal] = min(sum(words.values()), LONGEST_LENGTH)
        number = (first_document + ordinal) << 8
        for word, count in words.items():
            terms[TOKEN + word].append(number + (count if count < MOST_COUNT else MOST_COUNT))
        for word in identifier_terms(facts.definitions[ordinal - 1].bare_name) if ordinal else ():
            if word in words:
                terms[TOKEN + word][-1] |= IN_NAME
    return FileRow(
        id=identity,
        first_document=first_document,
        lengths=lengths.tobytes(),
        definitions="\n".join(map(_json, facts.definitions)),
        imports=_json(
            [
                (definition.module, definition.name, definition.alias, definition.line)
                for definition in facts.imports
            ]
        ),
        bases=_json(facts.bases),
    )


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def load_definitions(lines: str) -> tuple[Definition, ...]:
    """Deserialize all definitions of a file from lines with one each."""
    return tuple(map(definition_from_row, json.loads(f"[{lines.replace(chr(10), ',')}]")))


def definition_from_row(row: Sequence[Any]) -> Definition:
    """Deserialize one definition from its JSON value."""
    *fields, docstring = row
    return Definition._make((*fields, tuple(docstring)))


SMALL_BYTES = 1_500_000
"""Less than this is parsed faster than a process starts."""
LARGEST_BATCH_BYTES = 4_000_000
MOST_WORKERS = 8
SCRIPT = "import sys; sys.path[:] = sys.argv[1:]; from coder.index.parsing import parse_batch; parse_batch()"
Batch = Sequence[Job]


def parse_in_workers(files: Sequence[Job]) -> Iterator[IndexPart]:
    """Parse files, on all cores where that pays off."""
    total = sum(size for size, *_ in files)
    workers = min(os.cpu_count() or 1, total // SMALL_BYTES + 1, MOST_WORKERS)
    batches = list(_batches(files, min(total // workers, LARGEST_BATCH_BYTES)))
    if workers < 2:
        yield from map(parse_files, batches)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="index") as pool:
        yield from pool.map(_parse_in_process, batches)


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


def _parse_in_process(batch: Batch) -> IndexPart:
    """Parse a batch in another process, or in this one where that fails."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", SCRIPT, *filter(None, sys.path)],
            input=pickle.dumps(batch),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            start_new_session=True,
            check=True,
        )
        part = pickle.loads(done.stdout)
        assert isinstance(part, IndexPart)
    except (OSError, subprocess.CalledProcessError):
        return parse_files(batch)
    return part


def parse_batch() -> None:
    """Answer a batch on standard input with its part of the index on standard output."""
    gc.disable()  # nothing here forms reference cycles, and there are millions of objects to traverse
    part = parse_files(pickle.load(sys.stdin.buffer))
    pickle.dump(part, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)


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
        if words := count_terms("\n".join(pieces[owner])):
            yield owner, words


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
