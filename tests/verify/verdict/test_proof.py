"""Verifier: one baseline, and reproductions for the right reason."""

import threading
from pathlib import Path

import pytest

from coder.core.verdict import ReproductionResult, RunProblem, TestResult
from coder.verify.base import BASELINE_SECONDS
from coder.verify.change import Purpose
from coder.verify.verifier import ENDLESS_TEST_ADVICE, WorktreeVerifier
from tests.verify.fakes import FakeRunner, FakeTrees, Files, failed_result, passed_result

TEST = "tests/test_calc.py"


def test_measures_baseline_once(tmp_path: Path) -> None:
    runner = FakeRunner(lambda files: [passed_result("a")] if files == {"calc.py": "bug"} else [])
    verifier = WorktreeVerifier(
        trees=FakeTrees(tmp_path, {"calc.py": "bug"}, {"calc.py": "fixed"}), runner=runner, purpose=Purpose()
    )
    threads = [threading.Thread(target=verifier.baseline) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verifier.baseline().results == (passed_result("a"),)
    assert runner.calls == [()]


def reproduce(
    tmp_path: Path, runner: FakeRunner, change: Files, *tests: str, issue: str = ""
) -> ReproductionResult:
    trees = FakeTrees(tmp_path, {"calc.py": "bug", TEST: "old"}, change)
    return WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose(issue=issue)).reproduce(
        trees.patch, tests
    )


def test_only_test_part_of_change_is_on_base(tmp_path: Path) -> None:
    def suite(files: Files) -> list[TestResult]:
        assert files["calc.py"] == "bug"
        return [
            passed_result(f"{TEST}::test_old"),
            *([failed_result(f"{TEST}::test_new")] if "new" in files[TEST] else []),
        ]

    reproduction = reproduce(tmp_path, FakeRunner(suite), {"calc.py": "fixed", TEST: "old new"})
    assert reproduction == ReproductionResult(
        tests=(f"{TEST}::test_new",),
        results=(passed_result(f"{TEST}::test_old"), failed_result(f"{TEST}::test_new")),
    )


IN_SOURCE = failed_result(f"{TEST}::test_old", "IndexError", "", frames=(("calc.py", 2, "add"),))
REFUSED = RunProblem(kind="usage", text="pytest refused to run.")
ELSEWHERE = RunProblem(kind="wrong_code", text="The tests imported calc from elsewhere.")


@pytest.mark.parametrize(
    ("results", "named", "issue", "problem", "tests", "rejected"),
    [
        (
            [
                passed_result(f"{TEST}::test_green"),
                failed_result(f"{TEST}::test_fixture", "ValueError", "boom", when="setup"),
                failed_result(f"{TEST}::test_typo", "NameError", "name 'x' is not defined"),
            ],
            *(["tests/test_gone.py::test_x"], "", None, ()),
            (
                f"{TEST}::test_green: passes already on the base",
                f"{TEST}::test_fixture: fails in a fixture: ValueError: boom",
                f"{TEST}::test_typo: fails in the test itself at {TEST}:3 and not in an assertion: "
                "NameError: name 'x' is not defined",
                "tests/test_gone.py::test_x: there is no such test",
            ),
        ),
        (
            [failed_result(f"{TEST}::test_it", "KeyError", "'name'")],
            *([], "It raises KeyError.", None, (f"{TEST}::test_it",), ()),
        ),
        ([IN_SOURCE], [f"{TEST}::test_old"], "", None, (f"{TEST}::test_old",), ()),
        (REFUSED, [], "", None, (), ("pytest refused to run.",)),
        ([failed_result(f"{TEST}::test_it")], [], "", ELSEWHERE, (), (ELSEWHERE.text,)),
    ],
    ids=["wrong reasons", "error that the issue names", "named old test", "not run", "in wrong code"],
)
def test_gives_reason_for_each_rejected_test(
    tmp_path: Path,
    results: list[TestResult] | RunProblem,
    named: list[str],
    issue: str,
    problem: RunProblem | None,
    tests: tuple[str, ...],
    rejected: tuple[str, ...],
) -> None:
    is_always = named == [IN_SOURCE.id] or isinstance(results, RunProblem)
    runner = FakeRunner(
        lambda files: results if is_always or "new" in files[TEST] else [], problem=lambda _tests: problem
    )
    change = {"calc.py": "fixed"} if named == [IN_SOURCE.id] else {TEST: "old new"}
    found = reproduce(tmp_path, runner, change, *named, issue=issue)
    assert (found.tests, found.rejected) == (tests, rejected)


def test_reports_test_failing_only_among_others(tmp_path: Path) -> None:
    results = iter(
        [
            [passed_result(f"{TEST}::test_a"), failed_result(f"{TEST}::test_b")],
            [passed_result(f"{TEST}::test_b")],
        ]
    )
    trees = FakeTrees(tmp_path, {"calc.py": "bug", TEST: "old"}, {})
    verifier = WorktreeVerifier(
        trees=trees, runner=FakeRunner(lambda _files: next(results)), purpose=Purpose()
    )
    verifier.baseline()
    assert (
        verifier.reproduce(trees.patch, [f"{TEST}::test_b"])
        .rejected[0]
        .startswith(f"{TEST}::test_b: passes by itself, and failed among")
    )


def test_a_change_without_tests_reproduces_nothing(tmp_path: Path) -> None:
    reproduction = reproduce(tmp_path, FakeRunner(lambda _files: []), {"calc.py": "fixed"})
    missing = "No test was named, and no file that holds tests was added or changed."
    assert reproduction.rejected == (missing,)


def test_endless_test_reproduces_nothing(tmp_path: Path) -> None:
    runner = FakeRunner(
        lambda files: [] if files[TEST] == "old" else RunProblem(kind="timeout", text="Too slow.")
    )
    trees = FakeTrees(tmp_path, {"calc.py": "bug", TEST: "old"}, {TEST: "new"})
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose())
    verifier.baseline()
    assert verifier.reproduce(trees.patch, ()).rejected == (f"Too slow. {ENDLESS_TEST_ADVICE}",)
    assert runner.limits == [BASELINE_SECONDS, 60.0]
