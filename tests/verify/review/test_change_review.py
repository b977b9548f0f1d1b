"""Doubts about files beside the sources."""

from pathlib import Path

import pytest

from coder.verify.checks.review import change_doubts
from tests.builders import write

TESTS = 'def test_a():\n    assert seconds("1h30m") == 5400\n    assert seconds("2m10s") == 130\n'
INPUTS = "fixes: seconds('1h30m') and seconds('2m10s') are right now\n"


@pytest.mark.parametrize(
    ("note", "code", "doubts"),
    [
        ("releasenotes/notes/fix-12.yaml", "x = 2\n", []),
        ("newsfragments/12.txt", "x = 2\n", []),
        ("tables/fix-12.yaml", "x = 2\n", ["tables/fix-12.yaml holds the tests' own inputs"]),
        (
            "releasenotes/notes/fix-12.yaml",
            "x = open('releasenotes/notes/fix-12.yaml').read()\n",
            ["releasenotes/notes/fix-12.yaml holds the tests' own inputs"],
        ),
    ],
)
def test_release_notes_may_name_inputs_of_tests(
    tmp_path: Path, note: str, code: str, doubts: list[str]
) -> None:
    write(tmp_path, {"old/a.py": "x = 1\n", "new/a.py": code, f"new/{note}": INPUTS, "new/test_a.py": TESTS})
    found = change_doubts(
        tmp_path / "old",
        tmp_path / "new",
        tests=["test_a.py"],
        sources=["a.py", note],
        red_before=(),
        test_files=["test_a.py"],
    )
    assert [doubt.text for doubt in found if "inputs" in doubt.text] == doubts
