"""What `rg --json` writes: whole lines out of pieces, and what they say.

A quote inside of JSON has a backslash before it, so none of the texts below is ever part of what was found.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

BEGIN = b'{"type":"begin"'
MATCH = b'{"type":"match"'
CONTEXT = b'{"type":"context"'
LONGEST_RECORD = 1 << 20
TOO_LONG = "(a line too long to show)"
TOO_LONG_RECORD = (
    MATCH
    + b',"data":{"lines":{"text":"%s"},"line_number":%%s,"submatches":[{"start":0,"end":0}]}}\n'
    % TOO_LONG.encode()
)
PLAIN_PATH = re.compile(rb'\{"type":"begin","data":\{"path":\{"text":"([^"\\]*)"\}')
LINE_NUMBER = re.compile(rb'"\},"line_number":(\d+),')


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One line of a file that matched, or stands beside one that did."""

    path: str
    """Relative to the root; bytes that are not UTF-8 are surrogate escapes."""
    line: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    """Where in the text; empty for a context line."""


def blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, many at once, out of what comes in pieces; of a line over LONGEST_RECORD bytes just its number remains."""
    kept = tail = number = b""
    passing = False
    for chunk in chunks:
        if passing:
            line, end, chunk = chunk.partition(b"\n")
            number = number or _number(tail + line)
            tail = line[-100:]
            if not end:
                continue
            passing = False
            if number:
                yield TOO_LONG_RECORD % number
        lines, end, rest = (kept + chunk).rpartition(b"\n")
        if end:
            yield lines + end
        kept = rest
        if len(kept) > LONGEST_RECORD:
            passing, number, tail, kept = True, _number(kept), kept[-100:], b""


def _number(piece: bytes) -> bytes:
    return match[1] if (match := LINE_NUMBER.search(piece)) else b""


def by_file(block: bytes) -> Iterator[tuple[str, bytes]]:
    """The lines of each file, with its path; the path is empty where they go on from the block before."""
    before, *begun = block.split(BEGIN)
    if before:
        yield "", before
    for part in begun:
        said, _, records = part.partition(b"\n")
        yield _path(BEGIN + said), records


def _path(begin: bytes) -> str:
    plain = PLAIN_PATH.match(begin)
    return os.fsdecode(plain[1] if plain else _bytes(json.loads(begin)["data"]["path"])).removeprefix("./")


def hits_of(path: str, records: bytes) -> Iterator[Hit]:
    """What the records of a file say, one after the other."""
    for record in records.split(b"\n"):
        if record.startswith((MATCH, CONTEXT)) and (hit := _hit(path, json.loads(record)["data"])):
            yield hit


def _hit(path: str, data: dict[str, Any]) -> Hit | None:
    if data["line_number"] is None:
        return None
    raw = _bytes(data["lines"]).partition(b"\n")[0].removesuffix(b"\r")
    spans = tuple(
        (len(_text(raw[: item["start"]])), len(_text(raw[: item["end"]]))) for item in data["submatches"]
    )
    return Hit(path=path, line=data["line_number"], text=_text(raw), spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
