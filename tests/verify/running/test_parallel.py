"""Test runs on all cores, with the real runner."""

from pathlib import Path
from typing import Any

import pytest

from coder.core.verdict import TestReport
from coder.verify import run
from coder.verify.run import SuiteHistory
from tests.builders import by_hand, write
from tests.verify.conftest import Run

COUNTED = "def test_{number}():\n    assert True\n"


@pytest.fixture(autouse=True)
def small_suites_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LEAST_TESTS", 2)
    monkeypatch.setattr(run, "LEAST_SECONDS", 0.0)


def _run(
    tmp_path: Path, make_runner: Run, files: dict[str, str], *, command: str = "", tests: tuple[str, ...] = ()
) -> tuple[TestReport, SuiteHistory, list[int | None]]:
    """Run tests on two cores; return the report, what is remembered, and the shard of each process."""
    root = tmp_path / "checkout"
    write(root, files)
    history = SuiteHistory(tmp_path / "history.json", command or "python -m pytest")
    runner = make_runner(root, command=command or None, history=history, cores=2)
    shards: list[int | None] = []
    run = runner.run

    def watched_run(*arguments: Any, **options: Any) -> TestReport:
        shards.append(options.get("shard"))
        return run(*arguments, **options)

    runner.run = watched_run  # type: ignore[method-assign]
    return runner.run_parallel(root, tests), history, shards


@pytest.mark.parametrize("command", ["python -m unittest", *by_hand("")])
def test_each_test_runs_once(tmp_path: Path, make_runner: Run, command: str) -> None:
    text = (
        "import unittest\n\n\nclass Case{number}(unittest.TestCase):\n"
        "    def test_one(self):\n        pass\n\n"
        "    def test_two(self):\n        self.assertTrue({number} != 3)\n"
    )
    files = {f"test_{number}.py": text.format(number=number) for number in range(4)}
    report, history, shards = _run(tmp_path, make_runner, files, command=command)
    assert shards == [0, 1, None]  # the failure is repeated alone
    assert sorted(result.id for result in report.results) == sorted(
        f"test_{number}.py::Case{number}::test_{name}" for number in range(4) for name in ("one", "two")
    )
    assert [result.id for result in report.failures] == ["test_3.py::Case3::test_two"]
    assert report.problem is None
    assert not history.read().is_serial


@pytest.mark.thorough
def test_suite_that_cannot_run_in_parallel_is_remembered(tmp_path: Path, make_runner: Run) -> None:
    alone = (
        "import os, pathlib, time\n\n\ndef test_alone():\n    mark = pathlib.Path('mark')\n"
        "    os.mkdir(mark)\n    time.sleep(1.5)\n    os.rmdir(mark)\n"
    )
    files = {"test_a.py": alone, "test_b.py": alone}
    report, history, _ = _run(tmp_path, make_runner, files)
    assert report.failures == ()
    assert history.read().is_serial
    _, _, shards = _run(tmp_path, make_runner, files)
    assert shards == [None]


@pytest.mark.thorough
def test_collection_error_is_told_once(tmp_path: Path, make_runner: Run) -> None:
    files = {"test_a.py": "import nothing_like_this\n", "test_b.py": COUNTED.format(number=1)}
    files |= {"test_c.py": COUNTED.format(number=2), "test_d.py": COUNTED.format(number=3)}
    report, _, _ = _run(tmp_path, make_runner, files)
    assert sorted(result.id for result in report.results) == [
        "test_a.py",
        "test_b.py::test_1",
        "test_c.py::test_2",
        "test_d.py::test_3",
    ]
    assert [result.when for result in report.failures] == ["collect"]


@pytest.mark.thorough
def test_project_that_distributes_tests_itself_is_split(tmp_path: Path, make_runner: Run) -> None:
    files = {f"test_{number}.py": COUNTED.format(number=number) for number in range(4)}
    files["pytest.ini"] = "[pytest]\naddopts = --durations=1\n"
    assert len(_run(tmp_path / "one", make_runner, files)[2]) == 2
    files["pytest.ini"] = "[pytest]\naddopts = -n 2\n"
    assert _run(tmp_path / "two", make_runner, files)[2] == [0, 1]
