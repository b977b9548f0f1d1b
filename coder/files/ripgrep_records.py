"""Parsing of `rg --json` output in blocks of whole lines.

A quote inside of JSON is preceded by a backslash, so the byte strings below never occur in matched text.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

BEGIN_PREFIX = b'{"type":"begin"'
MATCH_PREFIX = b'{"type":"match"'
CONTEXT_PREFIX = b'{"type":"context"'
LONGEST_RECORD = 1 << 20
TOO_LONG = "(a line too long to show)"
TOO_LONG_RECORD = (
    MATCH_PREFIX
    + b',"data":{"lines":{"text":"%s"},"line_number":%%s,"submatches":[{"start":0,"end":0}]}}\n'
    % TOO_LONG.encode()
)
PLAIN_PATH = re.compile(rb'\{"type":"begin","data":\{"path":\{"text":"([^"\\]*)"\}')
LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),')


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One line of a file that matched, or context of a match."""

    path: str
    """Relative to the root; bytes that are not UTF-8 are surrogate escapes."""
    line: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Matched ranges of the text; empty for a context line."""


def whole_line_blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join chunks into blocks of whole lines; of a line over LONGEST_RECORD bytes only the number remains."""
    pending = tail = number = b""
    is_skipping = False
    for chunk in chunks:
        if is_skipping:
            line, end, chunk = chunk.partition(b"\n")
            number = number or _number(tail + line)
            tail = line[-100:]
            if not end:
                continue
            is_skipping = False
            if number:
                yield TOO_LONG_RECORD % number
        lines, end, rest = (pending + chunk).rpartition(b"\n")
        if end:
            yield lines + end
        pending = rest
        if len(pending) > LONGEST_RECORD:
            is_skipping, number, tail, pending = True, _number(pending), pending[-100:], b""


def _number(piece: bytes) -> bytes:
    return match[1] if (match := LINE_NUMBER.search(piece)) else b""


def split_by_file(block: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the records of each file with its path; the path is empty where they continue the last block."""
    before, *file_parts = block.split(BEGIN_PREFIX)
    if before:
        yield "", before
    for part in file_parts:
        header, _, records = part.partition(b"\n")
        yield _path(BEGIN_PREFIX + header), records


def _path(begin: bytes) -> str:
    plain = PLAIN_PATH.match(begin)
    return os.fsdecode(plain[1] if plain else _bytes(json.loads(begin)["data"]["path"])).removeprefix("./")


def parse_hits(path: str, records: bytes) -> Iterator[Hit]:
    """Parse the records of a file into hits, in order."""
    for record in records.split(b"\n"):
        if record.startswith((MATCH_PREFIX, CONTEXT_PREFIX)) and (
            hit := _hit(path, json.loads(record)["data"])
        ):
            yield hit


def _hit(path: str, data: dict[str, Any]) -> Hit | None:
    if data["line_number"] is None:
        return None
    raw = _bytes(data["lines"]).partition(b"\n")[0].removesuffix(b"\r")
    spans = tuple(
        (len(_text(raw[: match["start"]])), len(_text(raw[: match["end"]]))) for match in data["submatches"]
    )
    return Hit(path=path, line=data["line_number"], text=_text(raw), spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
