"""Trying candidates and confirming survivors."""

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from coder.core.ports import CallComparison, Edit, Progress, TrialResult
from coder.core.verdict import Outcome, RunProblem, TestReport, TestResult
from coder.repair.candidates import RepairCandidate
from coder.repair.search import (
    MAX_SURVIVORS,
    MAX_SURVIVORS_IN_FRESH_PROCESSES,
    MAX_TRIED_AFTER_SURVIVOR,
    apply_temporarily,
    passes_in_fresh_process,
    search_candidates,
    search_in_fresh_processes,
)
from tests.repair.places import candidate

TEXT = "def f(a):\n    return a < 1\n"


class FakeTrials:
    """Edits pass with a text in `right`, or in `slow` if patient; `cold` needs a fresh process."""

    def __init__(self, *right: str, slow: Sequence[str] = ()) -> None:
        self._right = right
        self._slow = slow
        self.closed = False
        self.compared = CallComparison()
        self.given: Sequence[Edit] = ()

    def try_out(
        self,
        tree: Path,
        tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
        patient: bool = False,
    ) -> Generator[TrialResult]:
        self.given = edits
        try:
            for edit in edits:
                text = edit.changes[0].text
                if text in self._slow and not patient:
                    yield TrialResult(edit=edit, outcome="timeout", test=tests[0])
                    continue
                holds = text in (*self._right, *self._slow)
                yield TrialResult(
                    edit=edit, outcome="cold" if text == "cold" else "passed" if holds else "failed"
                )
        finally:
            self.closed = True

    def compare_calls(
        self, tree: Path, tests: Sequence[str], edits: Sequence[Edit], *, seconds: float
    ) -> CallComparison:
        return self.compared


class FakeRunner:
    """Tests pass if the file contains the right text."""

    command = "pytest"

    def __init__(self, path: Path, *, right: str = "a <= 1", problem: RunProblem | None = None) -> None:
        self._path = path
        self._right = right
        self._problem = problem

    def run(
        self,
        tree: Path,
        tests: Sequence[str] = (),
        *,
        timeout_seconds: float | None = None,
        expect_loaded: Sequence[str] = (),
        progress: Progress | None = None,
        is_base: bool = False,
    ) -> TestReport:
        outcome: Outcome = "passed" if self._right in self._path.read_text() else "failed"
        return TestReport(
            command="pytest",
            results=tuple(TestResult(id=test, outcome=outcome) for test in tests),
            problem=self._problem,
        )


def ranked(*texts: str) -> list[RepairCandidate]:
    return [candidate(TEXT, "a < 1", text) for text in texts]


def test_stops_at_survivor_when_time_is_over(tmp_path: Path) -> None:
    result = search_candidates(
        FakeTrials("right"), tmp_path, ["t"], ranked("x", "right", "y"), seconds=0.0, progress=None
    )
    assert (result.tried, len(result.survivors)) == (2, 1)


def test_keeps_survivors_and_cold_candidates_in_order(tmp_path: Path) -> None:
    trials = FakeTrials("y", "z")
    candidates = ranked("x", "z", "cold", "y")
    result = search_candidates(trials, tmp_path, ["t"], candidates, seconds=1.0, progress=None)
    assert (result.survivors, result.cold, result.tried, trials.closed) == (
        [candidates[1], candidates[3]],
        [candidates[2]],
        4,
        True,
    )


def test_stops_some_candidates_after_first_survivor(tmp_path: Path) -> None:
    trials = FakeTrials("right")
    result = search_candidates(
        trials,
        tmp_path,
        ["t"],
        ranked("x", "right", *(f"y{number}" for number in range(MAX_TRIED_AFTER_SURVIVOR + 50))),
        seconds=1.0,
        progress=None,
    )
    assert result.tried == MAX_TRIED_AFTER_SURVIVOR + 2
    assert trials.closed


def test_skips_candidates_that_cannot_outweigh_survivor(tmp_path: Path) -> None:
    scores = [0.9, 0.8, 0.5, 0.15, 0.15]
    candidates = [
        candidate(TEXT, "a < 1", text, score=score)
        for text, score in zip(("x", "y", "z", "u", "v"), scores, strict=True)
    ]
    result = search_candidates(FakeTrials("y"), tmp_path, ["t"], candidates, seconds=1.0, progress=None)
    assert (result.survivors, result.tried) == ([candidates[1]], 4)


def test_stops_with_enough_survivors(tmp_path: Path) -> None:
    result = search_candidates(
        FakeTrials("x"), tmp_path, ["t"], ranked(*["x"] * 20), seconds=1.0, progress=None
    )
    assert len(result.survivors) == result.tried == MAX_SURVIVORS
    assert (
        result.progress_line == f"{MAX_SURVIVORS} of {MAX_SURVIVORS} candidates pass; best: x for a < 1 in f"
    )


@pytest.mark.parametrize(("new", "holds"), [("a <= 1", True), ("a > 1", False)])
def test_confirms_edit_on_disk_and_restores_file(tmp_path: Path, new: str, holds: bool) -> None:
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    edit = candidate(TEXT, "a < 1", new).edit
    assert (
        passes_in_fresh_process(FakeRunner(file), tmp_path, edit, ["t"], targets=["t"], seconds=1.0) is holds
    )
    assert file.read_text() == TEXT


def test_does_not_confirm_after_runner_problem(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    runner = FakeRunner(tmp_path / "a.py", problem=RunProblem(kind="wrong_code", text="elsewhere"))
    assert not passes_in_fresh_process(
        runner, tmp_path, candidate(TEXT, "a < 1", "a <= 1").edit, ["t"], targets=["t"], seconds=1.0
    )


@pytest.mark.parametrize("seen", [True, False])
def test_timeout_does_not_refute_edit_seen_to_pass(tmp_path: Path, seen: bool) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    runner = FakeRunner(tmp_path / "a.py", problem=RunProblem(kind="timeout", text="too long"))
    right, wrong = (candidate(TEXT, "a < 1", new).edit for new in ("a <= 1", "a > 1"))
    assert (
        passes_in_fresh_process(
            runner, tmp_path, right, ["t"], targets=["t"], seconds=1.0, passed_in_fork=seen
        )
        is seen
    )
    assert not passes_in_fresh_process(
        runner, tmp_path, wrong, ["t"], targets=["t"], seconds=1.0, passed_in_fork=seen
    )


def test_restores_file_after_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f(a):\r\n    return a < 1\r\n")
    with (
        pytest.raises(ZeroDivisionError),
        apply_temporarily(tmp_path, candidate(TEXT, "def", "async def").edit),
    ):
        assert (tmp_path / "a.py").read_bytes().startswith(b"async def f(a):\r\n")
        raise ZeroDivisionError
    assert (tmp_path / "a.py").read_bytes() == b"def f(a):\r\n    return a < 1\r\n"


class AlwaysGreen(FakeRunner):
    """A runner whose tests always pass."""

    def run(self, tree: Path, tests: Sequence[str] = (), **_: object) -> TestReport:
        return TestReport(
            command="pytest", results=(TestResult(id="tests/test_a.py::test_f", outcome="passed"),)
        )


def test_searches_in_fresh_processes_until_enough_survive(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    candidates = [candidate(TEXT, "<", operator) for operator in ("<=", "==", ">", ">=", "!=", "is")]
    all_green = search_in_fresh_processes(
        AlwaysGreen(tmp_path / "a.py"), tmp_path, ["tests/test_a.py"], candidates, seconds=30.0, progress=None
    )
    assert (all_green.tried, all_green.survivors) == (
        MAX_SURVIVORS_IN_FRESH_PROCESSES,
        candidates[:MAX_SURVIVORS_IN_FRESH_PROCESSES],
    )
    single = search_in_fresh_processes(
        FakeRunner(tmp_path / "a.py"),
        tmp_path,
        ["tests/test_a.py::test_f"],
        candidates,
        seconds=30.0,
        progress=None,
    )
    assert (single.tried, single.survivors) == (len(candidates), candidates[:1])
    unlikely = [candidates[0], candidate(TEXT, "<", "==", score=0.01)]
    assert (
        search_in_fresh_processes(
            AlwaysGreen(tmp_path / "a.py"),
            tmp_path,
            ["tests/test_a.py"],
            unlikely,
            seconds=30.0,
            progress=None,
        ).tried
        == 1
    )
    assert (
        search_in_fresh_processes(
            AlwaysGreen(tmp_path / "a.py"),
            tmp_path,
            ["tests/test_a.py"],
            candidates,
            seconds=0.0,
            progress=None,
        ).tried
        == 0
    )
