"""The lines of `rg --json`: whole ones out of pieces, and what they say."""

import base64
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONGEST_RECORD = 1 << 20
TOO_LONG = "(a line too long to show)"
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


def whole(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Lines out of pieces of at most LONGEST_RECORD bytes; of a line that is longer just the line number remains."""
    for piece in pieces:
        if piece.endswith(b"\n") or len(piece) < LONGEST_RECORD:
            yield piece
            continue
        number = LINE_NUMBER.search(piece)
        tail = piece[-100:]
        while not piece.endswith(b"\n") and (piece := next(pieces, b"")):
            number = number or LINE_NUMBER.search(tail + piece[:100]) or LINE_NUMBER.search(piece)
            tail = piece[-100:]
        if number:
            yield b'{"type":"match","data":{"lines":{"text":"%s"},"line_number":%s,"submatches":[{"start":0,"end":0}]}}' % (
                TOO_LONG.encode(),
                number[1],
            )


def path_of(begin: bytes) -> str:
    """The path that a record of the type `begin` tells."""
    return os.fsdecode(_bytes(json.loads(begin)["data"]["path"])).removeprefix("./")


def hit_of(path: str, record: bytes) -> Hit | None:
    """Read a record of the type `match` or `context`; one that a kill has torn counts as nothing."""
    try:
        data = json.loads(record)["data"]
    except json.JSONDecodeError:
        return None
    if data["line_number"] is None:
        return None
    raw = _bytes(data["lines"]).partition(b"\n")[0].removesuffix(b"\r")
    spans = tuple((len(_text(raw[: item["start"]])), len(_text(raw[: item["end"]]))) for item in data["submatches"])
    return Hit(path=path, line=data["line_number"], text=_text(raw), spans=spans)


def _bytes(field: dict[str, Any]) -> bytes:
    return field["text"].encode("utf-8") if "text" in field else base64.b64decode(field["bytes"])


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
