"""Tests that reach a change, nearest first, within a budget."""

import time
from collections.abc import Sequence

import pytest

from coder.core.verdict import RunProblem, TestReport
from coder.verify.base import LEAST_SCOPE, SuiteLimits
from coder.verify.run import CHUNK_TESTS, CUT_SHORT, OUT_OF_TIME, run_nearest_first
from coder.verify.select import SuiteSelection
from tests.verify.fakes import passed_result

FILES = tuple(f"tests/test_{letter}.py" for letter in "abcd")
PART = SuiteSelection(files=FILES, counts=dict.fromkeys(FILES, CHUNK_TESTS))


def run_all(
    problems: dict[str, RunProblem], *, pause: float = 0.0, seconds: float = 60.0
) -> tuple[TestReport, list[list[str]]]:
    chunks: list[list[str]] = []

    def run(tests: Sequence[str], _left: float) -> TestReport:
        chunks.append([*tests])
        time.sleep(pause)
        results = tuple(passed_result(f"{test}::test") for test in tests)
        problem = next((problems[test] for test in tests if test in problems), None)
        return TestReport(command="pytest", results=results, problem=problem, selected=len(tests))

    return run_nearest_first(run, PART, FILES, seconds), chunks


def test_chunks_grow_and_keep_the_order() -> None:
    report, chunks = run_all({})
    assert chunks == [[*FILES[:1]], [*FILES[1:3]], [*FILES[3:]]]
    assert (len(report.results), report.selected, report.problem) == (4, 4, None)


def test_a_chunk_without_tests_ends_nothing() -> None:
    report, chunks = run_all({FILES[0]: RunProblem(kind="no_tests", text="None.")})
    assert (len(chunks), report.problem) == (3, None)


@pytest.mark.parametrize("problem", [CUT_SHORT, RunProblem(kind="crash", text="It died.")])
def test_what_stops_a_chunk_stops_the_rest(problem: RunProblem) -> None:
    report, chunks = run_all({FILES[1]: problem})
    assert (len(chunks), report.problem) == (2, problem)


def test_the_farthest_are_cut_off() -> None:
    report, chunks = run_all({}, pause=0.3, seconds=1.1)
    assert (chunks, report.problem) == ([[*FILES[:1]]], OUT_OF_TIME)


def test_budget_starts_from_the_targets() -> None:
    limits = SuiteLimits(impacted_seconds=120.0)
    targets = TestReport(command="pytest", seconds=10.0)
    assert limits.seconds_for(PART) == LEAST_SCOPE
    assert limits.seconds_for(PART, targets) == 30.0
    by_map = PART.model_copy(update={"by_map": True, "seconds": 60.0})
    assert limits.seconds_for(by_map, targets) == 120.0
    assert limits.seconds_for(by_map.model_copy(update={"seconds": 600.0}), targets) == 30.0
    assert limits.model_copy(update={"waits": True}).seconds_for(PART, targets) == 120.0
