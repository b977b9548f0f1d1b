"""Turn a batch of files into rows of the index; nothing but its arguments and the files decides the outcome."""

import json
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from coder.files.tokenize import parts
from coder.index.definition import Definition
from coder.index.documents import documents
from coder.index.parsers.facts import Facts, facts_of
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
"""The kinds of terms, each its first letter: a bare name that is defined, one that is used, a word, a base class."""


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """One file's content in the index."""

    id: int
    first_document: int
    lengths: bytes
    """An unsigned short for each document: the number of its words."""
    definitions: str
    """A line of JSON each, in the order they stand in."""
    imports: str
    bases: str
    names: str
    """The identifiers it uses, and not only defines, sorted, a line each."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a batch of files adds."""

    files: list[FileRow]
    terms: dict[str, bytes]
    """By kind and text: unsigned ints. Defined, derived, tokens: document << 8 | in the name << 7 | count; used: file, count, lines."""


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """A batch before its documents have numbers."""

    found: list[tuple[int, str, Facts]]
    """Id, text and facts of each file."""

    @property
    def documents(self) -> int:
        """How many numbers it needs."""
        return sum(len(facts.definitions) + 1 for _, _, facts in self.found)

    def part(self, first_document: int) -> Part:
        """Number the documents from `first_document` on."""
        terms = _Terms()
        rows: list[FileRow] = []
        for identity, text, facts in self.found:
            rows.append(_row(identity, text, facts, first_document, terms))
            first_document += len(facts.definitions) + 1
        return Part(files=rows, terms=terms.packed())


class _Terms:
    """The numbers held under each text, a mapping for each kind."""

    def __init__(self) -> None:
        self.defined: dict[str, list[int]] = defaultdict(list)
        self.used: dict[str, list[int]] = defaultdict(list)
        self.tokens: dict[str, list[int]] = defaultdict(list)
        self.derived: dict[str, list[int]] = defaultdict(list)

    def packed(self) -> dict[str, bytes]:
        kinds = ((DEFINED, self.defined), (USED, self.used), (TOKEN, self.tokens), (DERIVED, self.derived))
        return {
            kind + text: array("I", numbers).tobytes()
            for kind, held in kinds
            for text, numbers in held.items()
        }


def parse(files: Sequence[Job]) -> Parsed:
    """Read files, without the secrets in them; leave out a file whose content is not the one that was meant."""
    found: list[tuple[int, str, Facts]] = []
    for _, identity, key, path, absolute in files:
        data = read_bytes(absolute)
        if data is not None and key_of(path, data) == key:
            text = "" if b"\0" in data else _SHAPES_ONLY.masked(data.decode("utf-8", "replace"))
            found.append((identity, text, facts_of(path, text)))
    return Parsed(found=found)


def read_bytes(absolute: str) -> bytes | None:
    try:
        with open(absolute, "rb") as file:  # noqa: PTH123  # thousands of times
            return file.read()
    except OSError:
        return None


def key_of(path: str, data: bytes) -> bytes:
    """What names a content: the same bytes read as the same language."""
    return blake2b(
        data, digest_size=16, person=path.rpartition(".")[2][-16:].encode("ascii", "replace")
    ).digest()


def _row(identity: int, text: str, facts: Facts, first_document: int, terms: _Terms) -> FileRow:
    for number, item in enumerate(facts.definitions, first_document + 1):
        if len(item.bare) <= LONGEST_NAME:
            terms.defined[item.bare].append(number << 8)
        for base in facts.bases.get(item.name, ()) if item.kind != "variable" else ():
            terms.derived[base.rpartition(".")[2]].append(number << 8)
    names = [name for name in facts.uses if len(name) <= LONGEST_NAME]
    for name in names:
        lines = facts.uses[name]
        terms.used[name] += (identity, len(lines), *lines)
    defining: dict[str, set[int]] = defaultdict(set)
    for item in facts.definitions:
        defining[item.bare].add(item.line)
    lengths = _count(text, facts, first_document, terms.tokens)
    return FileRow(
        id=identity,
        first_document=first_document,
        lengths=lengths.tobytes(),
        definitions="\n".join(map(dumped, facts.definitions)),
        imports=_json([(item.module, item.name, item.alias, item.line) for item in facts.imports]),
        bases=_json(facts.bases),
        names="\n".join(
            sorted(
                name
                for name in names
                if name not in defining or not defining[name].issuperset(facts.uses[name])
            )
        ),
    )


def _count(text: str, facts: Facts, first_document: int, tokens: dict[str, list[int]]) -> "array[int]":
    """Enter the words of each document, and return how many each has."""
    lengths = array("H", bytes(2 * (len(facts.definitions) + 1)))
    for ordinal, words in documents(text, facts.definitions):
        lengths[ordinal] = min(sum(words.values()), LONGEST_LENGTH)
        number = (first_document + ordinal) << 8
        for word, count in words.items():
            tokens[word].append(number + (count if count < MOST_COUNT else MOST_COUNT))
        for word in parts(facts.definitions[ordinal - 1].bare) if ordinal else ():
            if word in words:
                tokens[word][-1] |= IN_NAME
    return lengths


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dumped(item: Definition) -> str:
    """One definition as a line of text."""
    return _json(
        (item.name, item.kind, item.start, item.line, item.end, item.signature, item.summary, *item.docstring)
    )


def defined(lines: str) -> tuple[Definition, ...]:
    """All definitions of a file from the lines that `dumped` wrote."""
    return tuple(map(loaded, json.loads(f"[{lines.replace(chr(10), ',')}]")))


def loaded(row: Sequence[Any]) -> Definition:
    """One definition from what `dumped` wrote, read as JSON."""
    *fields, first, last = row
    return Definition._make((*fields, (first, last)))
