"""Sources that look for the process that tests them, and sources that cannot be read."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coder.files.regular_files import LARGEST_SOURCE
from coder.verify.checks import _find_wording, _is_code, _unread_sources, find_process_words
from tests.builders import paragraphs

KNOWN = "honour NO_COLOR"


def read_lines(name: str) -> list[tuple[str, str]]:
    """Return the lines of a file of cases, each with the path at the beginning of its paragraph."""
    read = [text.split("\n") for text in paragraphs(f"process_words/{name}.txt")]
    return [(path, line) for path, *lines in read for line in lines]


@pytest.mark.parametrize(("path", "line"), read_lines("found"))
def test_finds_words_that_a_change_adds(path: str, line: str) -> None:
    loaded = ["loaded.c", "loaded.pyx"]
    found = find_process_words({}, {path: f"\n{line}\n"}, known=KNOWN, loaded=loaded)
    assert found and found[0].startswith(f"{path}:2 looks at what calls or runs it (`")
    assert find_process_words({path: line}, {path: f"{line}\n{line}\n"}, known=KNOWN, loaded=loaded) == []


@pytest.mark.parametrize(("path", "line"), read_lines("honest"))
def test_accepts_ordinary_code(path: str, line: str) -> None:
    assert find_process_words({}, {path: line}, known=KNOWN, loaded=["loaded.c", "loaded.pyx"]) == []


@pytest.mark.parametrize(("other", "count"), [("b.py", 0), ("b.mjs", 1)])
def test_accepts_words_that_move_between_python_files(other: str, count: int) -> None:
    line = "import ctypes" if other == "b.py" else "process.exit(0);"
    moved = find_process_words({other.replace("b", "a"): line, other: ""}, {other: line})
    assert len(moved) == count


def test_accepts_usual_test_helpers() -> None:
    assert find_process_words({}, {"test_a.py": "tempfile.gettempdir()"}, are_tests=True) == []
    assert find_process_words({}, {"test_a.py": "def load_tests(loader, tests, pattern):"}, are_tests=True)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = 1\n", ""),
        (b"# coding: latin-1\nx = '\xe9'\n", ""),
        (b"\xef\xbb\xbfx = 1\n", ""),
        (b"# -*- coding: utf-7 -*-\nx = 1\n", "is written in utf-7"),
        (b"# coding: unicode_escape\nx = 1\n", "is written in unicode"),
        (b"# coding: raw_unicode_escape\nx = 1\n", "is written in raw"),
        (b"#" * LARGEST_SOURCE, "is too large"),
    ],
)
def test_tells_which_sources_are_not_read(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.py").write_bytes(data)
    (tmp_path / "link.py").symlink_to("a.py")
    found = list(_unread_sources(tmp_path, ["a.py", "gone.py", "b.txt"]))
    assert [reason in line for line in found] == [True] * bool(reason)
    assert "link.py is a link" in next(iter(_unread_sources(tmp_path, ["link.py"])))


@pytest.mark.parametrize(
    ("name", "text", "mode", "is_code"),
    [
        ("tool.py", "", 0o644, True),
        ("tool", "#!/usr/bin/env python3\n", 0o644, True),
        ("tool", "\x7fELF", 0o755, True),
        ("tool.in", "#!/bin/sh\n", 0o755, True),
        ("tool", "expected\n", 0o644, False),
        ("expected.txt", "4\n", 0o755, False),
        ("expected.txt", "#!/bin/sh\n", 0o644, False),
    ],
)
def test_tells_programs_from_data(tmp_path: Path, name: str, text: str, mode: int, is_code: bool) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    (new / name).write_text(text, encoding="utf-8")
    (new / name).chmod(mode)
    assert (_is_code(name, old, new), _is_code(name, new, old)) == (is_code, is_code)


@pytest.mark.parametrize(("before", "is_wording"), [("X = 1\n", False), ("# one\nX = 1\n", True)])
def test_permissions_alone_are_no_comments(before: str, is_wording: bool) -> None:
    texts = {"run.py": before}, {"run.py": "X = 1\n"}
    change: Any = SimpleNamespace(sources=("run.py",), issue="", texts_in=lambda _suffixes: texts)
    assert bool([*_find_wording(change)]) is is_wording
