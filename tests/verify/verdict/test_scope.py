"""Tests that a change is judged by beside its targets: how many run, and what is said of a part."""

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import pytest

from coder.core.ports import RunOptions
from coder.core.values import Cutoff
from coder.core.verdict import RunProblem, TestReport, TestResult, Verdict, VerdictKind
from coder.core.verdict_summary import describe_open
from coder.verify.base import SuiteLimits, choose_scope, next_chunk_size, patience
from coder.verify.change import Purpose
from coder.verify.results import NEVER_ENDING
from coder.verify.run import CUT_SHORT, SuiteHistory
from coder.verify.select import SuiteSelection
from coder.verify.verdict import Facts, decide
from coder.verify.verifier import WorktreeVerifier
from tests.verify.fakes import FakeRunner, FakeTrees, Files, failed_result, passed_result
from tests.verify.verdict.test_judgement import (
    BASE,
    FIX,
    NEW_TEST,
    OLD,
    OTHER,
    OTHER_FILE,
    TEST,
    TESTED,
    suite,
)

IMPORTING = {**BASE, "tests/test_other.py": "import calc"}
TOO_SLOW = RunProblem(kind="timeout", text="Too slow.")
SELECTED = SuiteSelection(files=(TEST,))


@pytest.mark.parametrize(
    ("target_seconds", "limits", "suite_seconds", "whole", "seconds"),
    [
        (1.0, SuiteLimits(), None, False, 20.0),
        (10.0, SuiteLimits(), None, False, 30.0),
        (90.0, SuiteLimits(), 121.0, False, 120.0),
        (10.0, SuiteLimits(), 29.0, True, 30.0),
        (10.0, SuiteLimits(waits=True), 31.0, True, 900.0),
        (10.0, SuiteLimits(suite_seconds=25.0), 29.0, False, 25.0),
        (10.0, SuiteLimits(reaching_seconds=20.0), None, False, 20.0),
    ],
)
def test_budget_follows_from_the_targets(
    target_seconds: float, limits: SuiteLimits, suite_seconds: float | None, whole: bool, seconds: float
) -> None:
    scope = choose_scope(SELECTED, limits=limits, target_seconds=target_seconds, suite_seconds=suite_seconds)
    assert (scope.whole, scope.seconds) == (whole, seconds)


@pytest.mark.parametrize(("seconds", "busy", "size"), [(4.0, 4.0, 2), (6.0, 3.0, 5), (15.0, 0.0, 5)])
def test_chunks_grow_as_far_as_starts_allow(seconds: float, busy: float, size: int) -> None:
    result = passed_result(OLD).model_copy(update={"seconds": busy})
    report = TestReport(command="pytest", results=(result,), seconds=seconds)
    assert next_chunk_size(1, report, left=20.0) == size


def verify(
    tmp_path: Path, change: Files = TESTED, *, runner: FakeRunner, cutoff: Cutoff | None = None
) -> Verdict:
    trees = FakeTrees(tmp_path, IMPORTING, change)
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose(), cutoff=cutoff or Cutoff())
    return verifier.examine(verifier.judge(trees.patch, ()))


def test_skipped_tests_are_told_where_most_are(tmp_path: Path) -> None:
    def ending(files: Files) -> list[TestResult]:
        skipped = [passed_result(f"{OTHER}_{number}", "skipped") for number in range(9)]
        return [*suite(files), *skipped]

    verdict = verify(tmp_path, runner=FakeRunner(ending))
    assert "all 12 tests that may use the changed code ran (9 of them skipped)" in verdict.reason


@pytest.mark.parametrize("calc", ["fixed", "fixed, and breaks"])
def test_part_that_ran_in_time_keeps_fixed_from_proven_and_shows_a_break(tmp_path: Path, calc: str) -> None:
    runner = FakeRunner(suite, problem=lambda tests: TOO_SLOW if OTHER_FILE in tests else None)
    verdict = verify(tmp_path, {**TESTED, "calc.py": calc}, runner=runner)
    if "breaks" in calc:
        assert (verdict.kind, [test.id for test in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])
        return
    assert (verdict.kind, verdict.reason) == (
        VerdictKind.FIXED,
        "1 test went from red to green; 3 tests that may use the changed code ran in 0 s, "
        "nearest first, with no new failure.",
    )
    assert "3 tests ran in time, and there are more: coder verify --wait" in describe_open(verdict)
    assert verdict.before is not None and verdict.before.partial  # other tests than those that ran


def test_nearest_tests_follow_a_whole_run_that_was_cut(tmp_path: Path) -> None:
    class Slow(FakeRunner):
        def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
            report = super().run(tree, tests, **options)
            if tests or "breaks" not in (tree / "calc.py").read_text(encoding="utf-8"):
                return report
            return report.model_copy(update={"results": report.results[:1], "problem": TOO_SLOW})

    runner, change = Slow(suite), {"calc.py": "fixed, and breaks", **NEW_TEST}
    trees = FakeTrees(tmp_path, IMPORTING, change)
    verifier = WorktreeVerifier(
        trees=trees, runner=runner, purpose=Purpose(), history=SuiteHistory(tmp_path / "history", "pytest")
    )
    verifier.baseline(whole=True)
    verdict = verifier.judge(trees.patch, ())
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])
    assert [run.tests for run in verdict.runs if run.label == "suite"] == [()]


def test_user_may_have_the_change_judged_now(tmp_path: Path) -> None:
    cutoff = Cutoff()
    requests: list[bool] = []

    def cut_short(_tests: tuple[str, ...]) -> RunProblem | None:
        requests.append(cutoff.request())
        return CUT_SHORT if requests[-1] else None

    verdict = verify(tmp_path, runner=FakeRunner(suite, problem=cut_short), cutoff=cutoff)
    assert (verdict.kind, verdict.cut_short) == (VerdictKind.FIXED, True)
    assert "The user asked to deliver now" in verdict.reason
    assert requests.count(True) == 1
    assert requests[0] is False  # targets are never cut short


def test_test_that_runs_when_the_user_cuts_it_short_is_not_red(tmp_path: Path) -> None:
    cutoff, slow = Cutoff(), failed_result("tests/test_other.py::test_slow", NEVER_ENDING)

    def ending(files: Files) -> list[TestResult]:
        return [*suite(files), *([slow] if cutoff.request() else [])]

    verdict = verify(tmp_path, runner=FakeRunner(ending), cutoff=cutoff)
    assert (verdict.kind, verdict.cut_short, verdict.still_red) == (VerdictKind.FIXED, True, ())


def test_near_tests_stand_for_a_large_suite_on_the_base(tmp_path: Path) -> None:
    """It is measured as a whole only when that is needed."""
    many = "".join(f"def test_{number}(): pass\n" for number in range(600))
    runner = FakeRunner(suite)
    trees = FakeTrees(tmp_path, {**BASE, "tests/test_many.py": many}, FIX)
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose())
    assert verifier.baseline().problem is not None
    assert verifier.baseline().results == ()
    report = verifier.baseline(near=(TEST, "tests/gone.py::test_x"))
    assert report.problem is not None
    assert report.results == verifier.baseline(near=(TEST,)).results != ()
    assert runner.calls == [(TEST,)]
    assert verifier.baseline(whole=True).problem is None
    assert verifier.baseline() is verifier.baseline(whole=True)
    assert runner.calls == [(TEST,), ()]


LRU = "tests/test_lru.py::test_lookup_refreshes"
LRU_TEST = "def test_lookup_refreshes():\n    assert LRUCache(2).get('a') is None\n"


def judge_with_ties(
    root: Path,
    *,
    calc: str,
    issue: str,
    unfinished: tuple[str, ...] = (),
    named: Sequence[str] = (),
    is_fix: bool = True,
) -> Verdict:
    """Judge a change of calc.py, where LRU is red until calc.py is `fixed`."""

    def run(files: Files) -> list[TestResult]:
        lru = passed_result(LRU) if "fixed" in files["calc.py"] else failed_result(LRU)
        return [passed_result(OLD), lru]

    base = {"calc.py": "bug", TEST: "old", "tests/test_lru.py": LRU_TEST}
    trees = FakeTrees(root, base, {"calc.py": calc})
    verifier = WorktreeVerifier(
        trees=trees,
        runner=FakeRunner(run),
        purpose=Purpose(
            issue=issue, unfinished_issues=unfinished, requires_identifier_ties=is_fix, needs_ties=True
        ),
    )
    verifier.baseline()
    return verifier.judge(trees.patch, named)


def test_unfinished_request_of_conversation_ties_a_test(tmp_path: Path) -> None:
    untied = judge_with_ties(tmp_path, calc="fixed", issue="Go on, please.")
    assert (untied.label, untied.untied) == ("PASSING", (LRU,))
    assert f"{LRU} does not mention anything from the issue" in untied.reason
    earlier = ("LRUCache forgets what was looked up last.",)
    tied = judge_with_ties(tmp_path, calc="fixed", issue="Go on, please.", unfinished=earlier)
    assert (tied.label, tied.targets) == ("FIXED", (LRU,))


def test_change_that_is_no_fix_need_not_turn_similar_red_tests_green(tmp_path: Path) -> None:
    issue = "Add a docstring to LRUCache."
    fix = judge_with_ties(tmp_path, calc="documented", issue=issue)
    change = judge_with_ties(tmp_path, calc="documented", issue=issue, is_fix=False)
    assert (fix.label, change.label) == ("NOT FIXED", "PASSING")
    assert change.is_deliverable
    assert "no test went from red to green" in change.reason


def test_targets_that_no_suite_holds_are_tests() -> None:
    report = TestReport(command="pytest")
    found = decide(Facts(before=report, after=report, targets=(f"{TEST}::test_half",)))
    assert found.reason == "1 test went from red to green, and no other test was found."
    assert decide(Facts(before=report, after=report)).reason == "No test was found."


def test_duration_is_unknown_before_suite_has_finished() -> None:
    assert patience(None) is None
    assert (
        patience(TestReport(command="pytest", problem=RunProblem(kind="timeout", text="Too slow."))) is None
    )
