"""Parsing of batches of files into index rows; the result depends only on arguments and file contents."""

import json
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from coder.files.tokenize import identifier_terms
from coder.index.definition import Definition
from coder.index.documents import split_documents
from coder.index.parsers.facts import Facts, parse_facts
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
