"""Verdicts where the whole suite is not run, or takes too long, and ties to the issue."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from coder.core.phases import Cutoff
from coder.core.verdict import RunProblem, TestResult, Verdict, VerdictKind
from coder.verify.base import SuiteLimits
from coder.verify.run import CUT_SHORT
from coder.verify.verifier import WorktreeVerifier
from tests.verify.fakes import FakeRunner, FakeTrees, Files, failed_result, passed_result
from tests.verify.verdict.test_judgement import ADDED, BASE, FIX, NEW_TEST, OLD, OTHER, TEST, suite

TESTED_FIX = {**FIX, **NEW_TEST}
IMPORTING = {**BASE, "tests/test_other.py": "import calc"}
TOO_SLOW = RunProblem(kind="timeout", text="Too slow.")


def verify(
    tmp_path: Path,
    change: Files = TESTED_FIX,
    *,
    base: Files = BASE,
    runner: FakeRunner | None = None,
    limits: SuiteLimits | None = None,
    cutoff: Cutoff | None = None,
) -> tuple[Verdict, list[tuple[str, ...]]]:
    """Return the verdict on a change, and the tests of each run."""
    trees, runner = FakeTrees(tmp_path, base, change), runner or FakeRunner(suite)
    verifier = WorktreeVerifier(
        trees=trees, runner=runner, issue="", suite=limits or SuiteLimits(), cutoff=cutoff or Cutoff()
    )
    return verifier.verify(trees.patch, ()), runner.calls


@pytest.mark.parametrize(
    ("fails_in", "kind", "text"),
    [
        ((), VerdictKind.INCONCLUSIVE, f"is judged by failed and passed in the same suite: {ADDED}."),
        ((OTHER,), VerdictKind.PASSING, f"adds or is judged by fail in the whole suite: {ADDED}"),
    ],
)
def test_target_that_fails_among_others_proves_nothing(
    tmp_path: Path, fails_in: tuple[str, ...], kind: VerdictKind, text: str
) -> None:
    def ending(files: Files) -> list[TestResult]:
        call = runner.calls[-1]
        is_red = not call or {*call} & {*fails_in}
        added = failed_result(ADDED) if is_red else suite(files)[1]
        return [passed_result(OTHER), *([added] if "new" in files[TEST] else [])]

    runner = FakeRunner(ending)
    verdict, _ = verify(tmp_path, runner=runner)
    assert verdict.kind is kind
    assert text in verdict.reason


IMPACTED = SuiteLimits(whole_seconds=60, only_impacted=True)
PROVEN_BY_TWO = (
    "1 test went from red to green; 2 of the 2 tests that reach the change ran, with no new failure"
)


@pytest.mark.parametrize(
    ("limits", "scope", "whole_runs", "reason"),
    [(IMPACTED, "reaching", 0, f"{PROVEN_BY_TWO}."), (SuiteLimits(whole_seconds=60), "whole", 2, "")],
)
def test_limits_decide_what_runs(
    tmp_path: Path, limits: SuiteLimits, scope: str, whole_runs: int, reason: str
) -> None:
    verdict, calls = verify(tmp_path, limits=limits)
    assert (verdict.kind, verdict.targets, verdict.scope) == (VerdictKind.PROVEN, (ADDED,), scope)
    assert calls.count(()) == whole_runs
    assert verdict.reason.startswith(reason)


def test_skipped_tests_are_told_where_most_are(tmp_path: Path) -> None:
    def ending(files: Files) -> list[TestResult]:
        skipped = [passed_result(f"{OTHER}_{number}") for number in range(9)]
        return [
            *suite(files),
            *(result.model_copy(update={"outcome": "skipped"}) for result in skipped),
        ]

    verdict, _ = verify(tmp_path, limits=IMPACTED, base=IMPORTING, runner=FakeRunner(ending))
    assert "12 of the 12 tests that reach the change ran (9 of them skipped)" in verdict.reason


def too_slow(is_slow: Callable[[Sequence[str]], bool]) -> FakeRunner:
    return FakeRunner(suite, problem=lambda tests: TOO_SLOW if is_slow(tests) else None)


def test_a_suite_beyond_its_limit_is_at_most_passing(tmp_path: Path) -> None:
    verdict, calls = verify(tmp_path, runner=too_slow(lambda tests: not tests))
    assert (verdict.kind, verdict.targets, verdict.scope) == (VerdictKind.PASSING, (ADDED,), "reaching")
    assert verdict.reason == f"{PROVEN_BY_TWO}, but the whole suite takes longer than its limit."
    assert calls.count(()) == 1


@pytest.mark.parametrize("limits", [IMPACTED, SuiteLimits()])
def test_failing_impacted_tests_break_change(tmp_path: Path, limits: SuiteLimits) -> None:
    change = {"calc.py": "fixed, and breaks", **NEW_TEST}
    runner = too_slow(lambda tests: not tests)
    verdict, _ = verify(tmp_path, change, base=IMPORTING, limits=limits, runner=runner)
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])


def test_truncated_impacted_tests_are_at_most_passing(tmp_path: Path) -> None:
    runner = too_slow(lambda tests: len(tests) > 1)
    verdict, _ = verify(tmp_path, base=IMPORTING, limits=IMPACTED, runner=runner)
    assert (verdict.kind, verdict.reason) == (
        VerdictKind.PASSING,
        "1 test went from red to green; 3 of about 3 tests that reach the change ran in 0 s, nearest first, "
        "with no new failure (Too slow), but only a part of the tests could be run on the base: Too slow.",
    )


@pytest.mark.parametrize("only_impacted", [True, False])
def test_verdict_that_the_user_cut_short_is_at_most_passing(tmp_path: Path, only_impacted: bool) -> None:
    cutoff = Cutoff()
    requests: list[bool] = []

    def cut_short(_tests: tuple[str, ...]) -> RunProblem | None:
        requests.append(cutoff.request())
        return CUT_SHORT if requests[-1] else None

    limits = SuiteLimits(whole_seconds=60, only_impacted=only_impacted)
    runner = FakeRunner(suite, problem=cut_short)
    verdict, _ = verify(tmp_path, base=IMPORTING, limits=limits, runner=runner, cutoff=cutoff)
    assert (verdict.kind, verdict.cut_short) == (VerdictKind.PASSING, True)
    assert "The user asked to deliver now" in verdict.reason
    assert requests.count(True) == 1
    assert requests[0] is False  # targets are never cut short


def test_large_suite_is_not_tried_within_short_limit(tmp_path: Path) -> None:
    many = "".join(f"def test_{number}(): pass\n" for number in range(200))
    base = {**BASE, "tests/test_many.py": many}
    verdict, calls = verify(tmp_path, base=base, limits=SuiteLimits(whole_seconds=2))
    assert (verdict.kind, verdict.scope, () in calls) == (VerdictKind.PROVEN, "reaching", False)


def test_change_reaching_any_test_runs_whole_suite(tmp_path: Path) -> None:
    change = {**TESTED_FIX, "pytest.ini": "[pytest]\naddopts = -q\n"}
    limits = SuiteLimits(only_impacted=True, whole_seconds=2)
    verdict, calls = verify(tmp_path, change, base={**BASE, "pytest.ini": "[pytest]\n"}, limits=limits)
    assert (verdict.scope, calls.count(())) == ("whole", 2)


def test_untried_suite_is_measured_when_needed(tmp_path: Path) -> None:
    trees, runner = FakeTrees(tmp_path, BASE, FIX), FakeRunner(suite)
    limits = SuiteLimits(whole_seconds=2, only_impacted=True)
    verifier = WorktreeVerifier(trees=trees, runner=runner, issue="", suite=limits)
    assert verifier.baseline().problem is not None
    assert verifier.baseline(whole=True).problem is None
    assert verifier.baseline() is verifier.baseline(whole=True)
    assert runner.calls == [()]


def test_deleted_test_is_detected_among_impacted_tests(tmp_path: Path) -> None:
    verdict, _ = verify(tmp_path, {**TESTED_FIX, "tests/test_other.py": ""}, limits=IMPACTED)
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])


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
        issue=issue,
        unfinished_issues=unfinished,
        requires_identifier_ties=is_fix,
        needs_ties=True,
    )
    verifier.baseline()
    return verifier.verify(trees.patch, named)


def test_unfinished_request_of_conversation_ties_a_test(tmp_path: Path) -> None:
    untied = judge_with_ties(tmp_path, calc="fixed", issue="Go on, please.")
    assert (untied.label, f"{LRU} does not mention anything from the issue" in untied.reason) == (
        "PASSING",
        True,
    )
    earlier = ("LRUCache forgets what was looked up last.",)
    tied = judge_with_ties(tmp_path, calc="fixed", issue="Go on, please.", unfinished=earlier)
    assert (tied.label, tied.targets) == ("PROVEN", (LRU,))


def test_change_that_is_no_fix_need_not_turn_similar_red_tests_green(tmp_path: Path) -> None:
    issue = "Add a docstring to LRUCache."
    fix = judge_with_ties(tmp_path, calc="documented", issue=issue)
    change = judge_with_ties(tmp_path, calc="documented", issue=issue, is_fix=False)
    assert (fix.label, change.label) == ("NOT FIXED", "PASSING")
    assert change.is_deliverable
    assert "no test went from red to green" in change.reason
