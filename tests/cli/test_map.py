"""`coder map` as a command, on a real suite."""

from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.verify.coverage_map import load_coverage
from tests.builders import repo

FILES = {
    "sums.py": "def double(x):\n    return 2 * x\n",
    "test_sums.py": """\
import unittest
import sums


class Sums(unittest.TestCase):
    def test_double(self):
        self.assertEqual(sums.double(2), 4)
""",
}


def test_records_head_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = repo(tmp_path / "sums", FILES)
    (place / "sums.py").write_text("raise OSError\n")  # uncommitted work is left aside
    arguments = ["map", "--repo", str(place), "--test", "python -m unittest", "--trust"]
    for _ in range(2):
        assert run_command_line(arguments) == 0
        output = capsys.readouterr().out
        assert output.startswith("map: 1 of 1 test files, 1 tests, ")
    coverage = load_coverage(Path(output.rpartition(", ")[2].strip()))
    (run,) = coverage.tests["test_sums.py::Sums::test_double"]
    assert {path for path, _ in map(coverage.units.__getitem__, coverage.entries[run.entry].units)} == {
        *FILES
    }
    assert run.passed


def test_rejects_command_without_recorder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = repo(tmp_path / "sums", FILES)
    assert run_command_line(["map", "--repo", str(place), "--test", "make test", "--trust"]) == 2
    assert "`make test` is not pytest, unittest or Django's runner" in capsys.readouterr().err
