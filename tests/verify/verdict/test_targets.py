"""Targets of a change: its own tests, those that the user names, those tied to the issue; nothing else."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

import pytest

from coder.core.events import RunEvent
from coder.core.ports import RunOptions
from coder.core.verdict import RunProblem, TestReport, TestResult, Verdict, VerdictKind
from coder.core.verdict_summary import describe_open
from coder.verify.change import Purpose
from coder.verify.run import RunStore, SuiteFacts, SuiteHistory
from coder.verify.verifier import WorktreeVerifier
from tests.verify.fakes import FakeRunner, FakeTrees, Files, failed_result, passed_result

SUITE = "tests/test_calc.py"
OTHER = "tests/test_other.py"
OLD_RED = f"{SUITE}::test_python_version"
NEW = f"{SUITE}::test_product"
OLD_TESTS = "def test_sum():\n    assert 1\n\ndef test_python_version():\n    assert 0\n"
NEW_TEST = "\ndef test_product():\n    assert product(2, 3) == 6\n"
BASE = {"calc.py": "bug", SUITE: OLD_TESTS, OTHER: "def test_other():\n    pass\n"}
FIX = {"calc.py": "fixed", SUITE: OLD_TESTS + NEW_TEST}
ISSUE = "product(2, 3) gives 5"
CUT = RunProblem(kind="timeout", text="The time limit is reached.")


def run_suite(files: Files) -> list[TestResult]:
    """Return an old failure, an old success, and the new test wherever it is, green once fixed."""
    results = []
    for path, text in files.items():
        for line in text.splitlines():
            if line.startswith("def test"):
                test = f"{path}::{line[4:].partition('(')[0]}"
                is_red = "version" in line or ("product" in line and files["calc.py"] != "fixed")
                results.append(
                    failed_result(test, frames=((path, 1, line),)) if is_red else passed_result(test)
                )
    return results


def make_verifier(
    place: Path,
    change: Files,
    *,
    issue: str = ISSUE,
    runner: FakeRunner | None = None,
    user_tests: tuple[str, ...] = (),
    known_seconds: float = 10_000,
) -> tuple[WorktreeVerifier, FakeTrees, FakeRunner]:
    """Return a verifier of a suite that takes too long to be measured before a change is judged."""
    runner = runner or FakeRunner(run_suite)
    trees = FakeTrees(place, BASE, change)
    history = SuiteHistory(place / "history.json", "pytest")
    history.write(SuiteFacts(seconds=known_seconds))
    verifier = WorktreeVerifier(
        trees=trees,
        runner=runner,
        purpose=Purpose(issue=issue, named_tests=user_tests, needs_ties=True),
        history=history,
        store=RunStore(place / "runs", ""),
    )
    return verifier, trees, runner


def judge(place: Path, change: Files, named: Sequence[str] = ()) -> Verdict:
    verifier, trees, _ = make_verifier(place, change)
    return verifier.judge(trees.patch, named)


@pytest.mark.parametrize(("known_seconds", "scope"), [(20.0, "whole"), (21.0, "reaching")])
def test_runs_whole_suite_where_it_fits_into_the_budget(
    tmp_path: Path, known_seconds: float, scope: str
) -> None:
    verifier, trees, _ = make_verifier(tmp_path, FIX, known_seconds=known_seconds)
    assert verifier.judge(trees.patch, [NEW]).scope == scope


@pytest.mark.parametrize("known_seconds", [1.0, 10_000.0])
def test_old_failure_in_touched_file_is_no_reproduction(tmp_path: Path, known_seconds: float) -> None:
    """Nor does a reproduction by new tests wait for the suite."""
    verifier, trees, runner = make_verifier(tmp_path, FIX, known_seconds=known_seconds)
    assert verifier.reproduce(trees.patch, ()).tests == (NEW,)
    assert runner.calls == [(NEW,)]


def test_verdict_recalls_the_run_of_the_reproduction(tmp_path: Path) -> None:
    verifier, trees, _ = make_verifier(tmp_path, FIX)
    told: list[RunEvent] = []
    reproduced = verifier.reproduce(trees.patch, (), tell=told.append)
    assert [event.type for event in told] == ["tests_started", "tests_ended"]
    verdict = verifier.judge(trees.patch, [f"{NEW}[0]", *reproduced.tests])
    assert verdict.label == "FIXED"
    assert [run.stored for run in verdict.runs if run.label == "targets on the base"] == [True]


def test_program_that_was_missing_is_looked_for_again(tmp_path: Path) -> None:
    lack = failed_result(NEW, "FileNotFoundError", "[Errno 2] No such file or directory: 'latex'")
    verifier, trees, _ = make_verifier(tmp_path, FIX, runner=FakeRunner(lambda _: [lack]))
    assert verifier.judge(trees.patch, [NEW]).label == "NOT TESTED"
    assert judge(tmp_path, FIX, [NEW]).label == "FIXED"


def test_old_failure_in_touched_file_does_not_block(tmp_path: Path) -> None:
    assert judge(tmp_path, FIX, [NEW, OLD_RED]).label == "FIXED"
    verdict = judge(tmp_path, FIX, [NEW])
    assert (verdict.label, verdict.targets) == ("FIXED", (NEW,))
    assert [run.tests for run in verdict.runs if run.label in ("targets", "targets on the base")] == [
        (NEW,),
        (NEW,),
    ]


def test_edit_of_old_failure_is_no_reproduction(tmp_path: Path) -> None:
    edited = {"calc.py": "fixed", SUITE: OLD_TESTS.replace("assert 0", "assert 0 == 1")}
    verifier, trees, _ = make_verifier(tmp_path, edited)
    reproduced = verifier.reproduce(trees.patch, ())
    assert reproduced.tests == ()
    assert "fails in the same way without the edit" in reproduced.rejected[0]


def test_moved_test_is_not_missing(tmp_path: Path) -> None:
    moved = {"calc.py": "fixed", "tests/test_product.py": NEW_TEST}
    verdict = judge(tmp_path, moved, [NEW])
    assert (verdict.label, verdict.targets) == ("FIXED", ("tests/test_product.py::test_product",))
    base_runs = [run for run in verdict.runs if run.label == "base"]
    assert [run.tests for run in base_runs if any(test.startswith(SUITE) for test in run.tests)] == []


def test_cut_run_concludes_nothing_of_files_that_it_did_not_reach(tmp_path: Path) -> None:
    def problem(tests: tuple[str, ...]) -> RunProblem | None:
        return CUT if OTHER in tests else None

    calc = {
        "calc.py": "def product(): return 'fixed'",
        OTHER: "from calc import product\ndef test_other():\n    pass\n",
    }
    base = {**BASE, **calc, "calc.py": "def product(): pass"}

    def run(files: Files) -> list[TestResult]:
        seen = {**files, "calc.py": "fixed" if "fixed" in files["calc.py"] else "bug"}
        return [result for result in run_suite(seen) if not result.id.startswith(OTHER)]

    runner = FakeRunner(run, problem=problem)
    verifier, trees, _ = make_verifier(tmp_path, {**FIX, **calc}, runner=runner)
    trees.trees["base"] = dict(base)
    verdict = verifier.examine(verifier.judge(trees.patch, ()))
    assert (verdict.label, verdict.broken, verdict.with_effect("open")) == ("FIXED", (), ())
    assert "3 of about 4 tests that may use the changed code ran" in verdict.reason


class EndlessRunner(FakeRunner):
    """A runner whose new test does not end on the base, in the first run or in each."""

    is_always, cuts = True, 0

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Unpack[RunOptions]) -> TestReport:
        report = super().run(tree, tests, **options)
        if not any(result.id == NEW and result.red for result in report.results):
            return report
        self.cuts += 1
        if self.cuts > 1 and not self.is_always:
            return report.model_copy(update={"results": [passed_result(NEW)]})
        results = tuple(result for result in report.results if result.id != NEW)
        return report.model_copy(update={"results": results, "problem": CUT, "seconds": 60.0})


@pytest.mark.parametrize(
    ("command", "is_always", "label"),
    [("ctest", True, "FIXED"), ("ctest", False, "PASSING"), ("pytest", True, "PASSING")],
)
def test_only_test_without_result_in_a_run_that_was_cut_did_not_end(
    tmp_path: Path, command: str, is_always: bool, label: str
) -> None:
    runner = EndlessRunner(run_suite, command=command)
    runner.is_always = is_always
    verifier, trees, _ = make_verifier(tmp_path, FIX, runner=runner)
    assert verifier.judge(trees.patch, ()).label == label


@pytest.mark.parametrize(
    ("user_tests", "excluded", "label"),
    [
        ((), (), "FIXED"),
        ((OLD_RED,), (), "NOT FIXED"),
        ((OLD_RED,), (OLD_RED,), "FIXED"),
        ((), (OLD_RED,), "FIXED"),
        ((), (NEW,), "PASSING"),
    ],
)
def test_user_may_demand_or_exclude_tests(
    tmp_path: Path, user_tests: tuple[str, ...], excluded: tuple[str, ...], label: str
) -> None:
    verifier, trees, _ = make_verifier(tmp_path, FIX, user_tests=user_tests)
    verdict = verifier.judge(trees.patch, user_tests, excluded=excluded)
    assert verdict.label == label
    assert [note for note in verdict.notes if "not about" in note] == [
        f"not about the issue, as was said: {test}" for test in excluded
    ]


def test_base_results_are_run_by_name_once(tmp_path: Path) -> None:
    verifier, _, runner = make_verifier(tmp_path, FIX)
    report = verifier.results_on_base([OLD_RED, NEW, f"{OTHER}::test_missing"])
    assert [(result.id, result.outcome) for result in report.results] == [(OLD_RED, "failed")]
    verifier.results_on_base([OLD_RED])
    assert runner.calls == [(OLD_RED, NEW, f"{OTHER}::test_missing")]


@pytest.mark.parametrize(
    ("issue", "label"),
    [
        ("Multiplying goes wrong", "FIXED"),  # names no definition of the project
        ("`ledger` is slow, products too", "FIXED"),  # shares a stem with the test
        ("`ledger` is slow", "PASSING"),
    ],
)
def test_new_test_shares_a_word_with_the_issue(tmp_path: Path, issue: str, label: str) -> None:
    base = {**BASE, "calc.py": "def ledger(): return 0\ndef mul(): return 0\n"}
    change = {**FIX, "calc.py": "def ledger(): return 0\ndef mul(): return 1\n"}

    def run(files: Files) -> list[TestResult]:
        return run_suite({**files, "calc.py": "fixed" if "return 1" in files["calc.py"] else "bug"})

    trees = FakeTrees(tmp_path, base, change)
    verifier = WorktreeVerifier(
        trees=trees, runner=FakeRunner(run), purpose=Purpose(issue=issue, needs_ties=True)
    )
    verdict = verifier.judge(trees.patch, ())
    assert verdict.label == label, verdict.reason


def test_access_by_old_tests_of_a_touched_file_is_not_new(tmp_path: Path) -> None:
    class Watching(FakeRunner):
        def run_parallel(self, tree: Path, tests: Sequence[str] = (), **options: Any) -> TestReport:
            report = self.run(tree, tests, **options)
            return report.model_copy(update={"reached": (f"{SUITE}: sys._getframe",)})

    verifier, trees, _ = make_verifier(tmp_path, FIX, runner=Watching(run_suite))
    verdict = verifier.judge(trees.patch, ())
    assert verdict.label == "FIXED", verdict.reason


FIRST, SECOND = f"{SUITE}::TestFlow::test_a", f"{SUITE}::TestFlow::test_b"
IMPORTING = {**BASE, SUITE: f"import calc\n{OLD_TESTS}"}


def judge_without_issue(
    place: Path, change: Files, runner: FakeRunner, base: Files = IMPORTING, named: Sequence[str] = ()
) -> Verdict:
    trees = FakeTrees(place, base, change)
    return WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose()).judge(trees.patch, named)


class SharedState(FakeRunner):
    """Fails the second test of a class wherever `is_part` holds of the tests asked for."""

    def __init__(self, is_part: Callable[[Sequence[str]], bool], *others: str) -> None:
        def run_class(files: Files) -> list[TestResult]:
            second = passed_result(SECOND) if "fixed" in files["calc.py"] else failed_result(SECOND)
            return [*map(passed_result, others), second]

        super().__init__(run_class)
        self._is_part = is_part

    def _report(self, tree: Path, tests: Sequence[str]) -> TestReport:
        report = super()._report(tree, tests)
        if not self._is_part(tests):
            return report
        results = (failed_result(SECOND) if test.id == SECOND else test for test in report.results)
        return report.model_copy(update={"results": tuple(results)})


@pytest.mark.parametrize("named", [(SECOND,), ()])
@pytest.mark.parametrize("is_fixed", [True, False])
def test_test_that_passes_only_beside_others_is_no_target(
    tmp_path: Path, named: tuple[str, ...], is_fixed: bool
) -> None:
    runner = SharedState(lambda tests: SECOND in tests, FIRST)
    verdict = judge_without_issue(
        tmp_path, {"calc.py": "fixed" if is_fixed else "other"}, runner, named=named
    )
    if is_fixed:
        assert (verdict.kind, verdict.targets) == (VerdictKind.PASSING, ()), verdict.reason
        assert "is flaky, so nothing shows" in verdict.reason
    else:
        assert verdict.kind is (VerdictKind.NOT_FIXED if named else VerdictKind.PASSING)


DATA_CASE = f"{SUITE}::test_cases[data/new_python.txt:1]"
DATA = {
    **{**BASE, SUITE: f"FILES = ['new_python.txt']\n{OLD_TESTS}"},
    "tests/data/new_python.txt": "1",
}
NEW_FILE = "import calc\ndef test_new():\n    assert calc\n"


@pytest.mark.parametrize(
    ("base", "change", "lost", "skipped", "line"),
    [
        *(
            (
                *(IMPORTING, {"calc.py": "fixed", path: NEW_FILE}, path, ""),
                f"`pytest` collects no test of {path}: ",
            )
            for path in ("tests/check_sum.py", "spec_sum.py")
        ),
        (BASE, FIX, NEW, NEW, f"{NEW}, added or edited by the change, is skipped here"),
        (
            *(DATA, {"calc.py": "fixed", "tests/data/new_python.txt": "2"}, "none", DATA_CASE),
            f"{DATA_CASE}, added or edited by the change, is skipped here",
        ),
    ],
    ids=["other name", "other place", "skipped", "case of data, skipped as before"],
)
def test_names_changed_tests_that_do_not_run(
    tmp_path: Path, base: Files, change: Files, lost: str, skipped: str, line: str
) -> None:
    def run(files: Files) -> list[TestResult]:
        results = run_suite(files)
        is_there = skipped == DATA_CASE or any(result.id == skipped for result in results)
        kept = [result for result in results if not result.id.startswith(lost)]
        return [*kept, *([passed_result(skipped, "skipped")] if is_there else [])]

    (found,) = describe_open(judge_without_issue(tmp_path, change, FakeRunner(run), base))
    assert found.startswith(line)


def test_flaky_target_is_not_held_against_an_issue_that_nobody_gave(tmp_path: Path) -> None:
    runner = SharedState(lambda tests: any("::" in test for test in tests))
    (line,) = describe_open(judge_without_issue(tmp_path, {"calc.py": "fixed"}, runner))
    assert line == f"{SECOND} is flaky, so nothing shows that the issue is fixed"
