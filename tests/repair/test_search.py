"""Trying candidates and confirming survivors."""

from pathlib import Path

import pytest

from coder.core.verdict import RunProblem
from coder.repair.candidates import RepairCandidate
from coder.repair.search import (
    MAX_SURVIVORS,
    MAX_SURVIVORS_IN_FRESH_PROCESSES,
    MAX_TRIED_AFTER_SURVIVOR,
    SearchState,
    apply_temporarily,
    passes_in_fresh_process,
    search_candidates,
    search_in_fresh_processes,
)
from tests.repair.fakes import FakeRunner, FakeTrials
from tests.repair.places import candidate

TEXT = "def f(a):\n    return a < 1\n"


def ranked(*texts: str) -> list[RepairCandidate]:
    return [candidate(TEXT, "a < 1", text) for text in texts]


def search(
    tree: Path, trials: FakeTrials, candidates: list[RepairCandidate], seconds: float = 1.0
) -> SearchState:
    return search_candidates(trials, tree, ["t"], candidates, seconds=seconds, progress=None)


def confirms(tree: Path, new: str, *, problem: RunProblem | None = None, seen: bool = False) -> bool:
    runner, edit = FakeRunner(tree / "a.py", problem=problem), candidate(TEXT, "a < 1", new).edit
    return passes_in_fresh_process(runner, tree, edit, ["t"], targets=["t"], seconds=1.0, passed_in_fork=seen)


def test_stops_at_survivor_when_time_is_over(tmp_path: Path) -> None:
    result = search(tmp_path, FakeTrials("right"), ranked("x", "right", "y"), seconds=0.0)
    assert (result.tried, len(result.survivors)) == (2, 1)


def test_keeps_survivors_and_cold_candidates_in_order(tmp_path: Path) -> None:
    trials = FakeTrials("y", "z")
    candidates = ranked("x", "z", "cold", "y")
    result = search(tmp_path, trials, candidates)
    assert (result.survivors, result.cold, result.tried, trials.closed) == (
        [candidates[1], candidates[3]],
        [candidates[2]],
        4,
        True,
    )


def test_stops_some_candidates_after_first_survivor(tmp_path: Path) -> None:
    trials = FakeTrials("right")
    others = (f"y{number}" for number in range(MAX_TRIED_AFTER_SURVIVOR + 50))
    result = search(tmp_path, trials, ranked("x", "right", *others))
    assert result.tried == MAX_TRIED_AFTER_SURVIVOR + 2
    assert trials.closed


def test_skips_candidates_that_cannot_outweigh_survivor(tmp_path: Path) -> None:
    scores = [0.9, 0.8, 0.5, 0.15, 0.15]
    candidates = [
        candidate(TEXT, "a < 1", text, score=score)
        for text, score in zip(("x", "y", "z", "u", "v"), scores, strict=True)
    ]
    result = search(tmp_path, FakeTrials("y"), candidates)
    assert (result.survivors, result.tried) == ([candidates[1]], 4)


def test_stops_with_enough_survivors(tmp_path: Path) -> None:
    result = search(tmp_path, FakeTrials("x"), ranked(*["x"] * 20))
    assert len(result.survivors) == result.tried == MAX_SURVIVORS
    assert (
        result.progress_line == f"{MAX_SURVIVORS} of {MAX_SURVIVORS} candidates pass; best: x for a < 1 in f"
    )


@pytest.mark.parametrize(("new", "holds"), [("a <= 1", True), ("a > 1", False)])
def test_confirms_edit_on_disk_and_restores_file(tmp_path: Path, new: str, holds: bool) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    assert confirms(tmp_path, new) is holds
    assert (tmp_path / "a.py").read_text() == TEXT
    assert not confirms(tmp_path, new, problem=RunProblem(kind="wrong_code", text="elsewhere"))


@pytest.mark.parametrize("seen", [True, False])
def test_timeout_does_not_refute_edit_seen_to_pass(tmp_path: Path, seen: bool) -> None:
    (tmp_path / "a.py").write_text(TEXT)
    late = RunProblem(kind="timeout", text="too long")
    assert confirms(tmp_path, "a <= 1", problem=late, seen=seen) is seen
    assert not confirms(tmp_path, "a > 1", problem=late, seen=seen)


def test_restores_file_after_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f(a):\r\n    return a < 1\r\n")
    with (
        pytest.raises(ZeroDivisionError),
        apply_temporarily(tmp_path, candidate(TEXT, "def", "async def").edit),
    ):
        assert (tmp_path / "a.py").read_bytes().startswith(b"async def f(a):\r\n")
        raise ZeroDivisionError
    assert (tmp_path / "a.py").read_bytes() == b"def f(a):\r\n    return a < 1\r\n"


def test_searches_in_fresh_processes_until_enough_survive(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT)

    def search(candidates: list[RepairCandidate], right: str, seconds: float = 30.0) -> SearchState:
        runner = FakeRunner(tmp_path / "a.py", right=right)
        return search_in_fresh_processes(
            runner, tmp_path, ["tests/test_a.py::test_f"], candidates, seconds=seconds, progress=None
        )

    candidates = [candidate(TEXT, "<", operator) for operator in ("<=", "==", ">", ">=", "!=", "is")]
    all_green = search(candidates, "")
    survivors = candidates[:MAX_SURVIVORS_IN_FRESH_PROCESSES]
    assert (all_green.tried, all_green.survivors) == (MAX_SURVIVORS_IN_FRESH_PROCESSES, survivors)
    single = search(candidates, "a <= 1")
    assert (single.tried, single.survivors) == (len(candidates), candidates[:1])
    assert search([candidates[0], candidate(TEXT, "<", "==", score=0.01)], "").tried == 1
    assert search(candidates, "", seconds=0.0).tried == 0
