"""Parsing of ripgrep's output, in pieces of any size."""

import json
from collections.abc import Iterator

import pytest

from coder.files.ripgrep import LONGEST_RECORD, TOO_LONG, Hit, parse_hits, split_by_file, whole_line_blocks


def record(kind: str, path: str, text: str = "", line: int = 0, *spans: tuple[int, int]) -> bytes:
    payload = {"path": {"text": path}, "lines": {"text": text}, "line_number": line}
    matches = [{"match": {"text": text[start:end]}, "start": start, "end": end} for start, end in spans]
    return (
        json.dumps(
            {"type": kind, "data": payload | {"submatches": matches}},
            separators=(",", ":"),
            ensure_ascii=False,
        ).encode()
        + b"\n"
    )


def split_data(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read_hits(data: bytes, size: int) -> dict[str, list[Hit]]:
    result: dict[str, bytes] = {}
    path = ""
    for block in whole_line_blocks(split_data(data, size)):
        for begun, records in split_by_file(block):
            path = begun or path
            result[path] = result.get(path, b"") + records
    return {path: list(parse_hits(path, records)) for path, records in result.items()}


QUOTES = 'the text {"type":"begin" and {"type":"match" in é'
OUTPUT = b"".join(
    [
        record("begin", "./a.py"),
        record("context", "./a.py", "before\n", 1),
        record("match", "./a.py", f"{QUOTES}\r\n", 2, (4, 8), (len(QUOTES) - 1, len(QUOTES) + 1)),
        record("end", "./a.py"),
        record("begin", './say "b".py'),
        record("match", './say "b".py', "x", 7, (0, 1)),
    ]
)


@pytest.mark.parametrize("size", [1, 2, 7, 100, 10_000])
def test_chunk_size_does_not_matter(size: int) -> None:
    first, second = (
        Hit(path="a.py", line=1, text="before"),
        Hit(path="a.py", line=2, text=QUOTES, spans=((4, 8), (48, 49))),
    )
    assert read_hits(OUTPUT, size) == {
        "a.py": [first, second],
        'say "b".py': [Hit(path='say "b".py', line=7, text="x", spans=((0, 1),))],
    }


@pytest.mark.parametrize("size", [999, 1 << 18])
def test_keeps_number_of_too_long_line(size: int) -> None:
    long = record("match", "./a.py", "y" * (3 * LONGEST_RECORD), 12, (0, 1))
    data = (
        record("begin", "./a.py")
        + record("match", "./a.py", "x", 3, (0, 1))
        + long
        + record("match", "./a.py", "z", 20, (0, 1))
    )
    assert [(hit.line, hit.text) for hit in read_hits(data, size)["a.py"]] == [
        (3, "x"),
        (12, TOO_LONG),
        (20, "z"),
    ]


def test_ignores_torn_record() -> None:
    assert [hit.line for hit in read_hits(OUTPUT[:-5], 64)["a.py"]] == [1, 2]
    assert read_hits(OUTPUT[:-5], 64)['say "b".py'] == []
