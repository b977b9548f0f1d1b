"""Judgement of a change, with a scripted runner."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from coder.core.values import Cutoff
from coder.core.verdict import (
    Counts,
    Failure,
    LintReport,
    RunProblem,
    TestReport,
    TestResult,
    Verdict,
    VerdictKind,
)
from coder.verify import verifier
from coder.verify.examine import ExaminationTools
from coder.verify.issue import Purpose
from coder.verify.run import OUT_OF_TIME
from coder.verify.verifier import WorktreeVerifier
from tests.builders import by_hand
from tests.verify.fakes import (
    FakeIssueCode,
    FakeRunner,
    FakeTrees,
    Files,
    NoTrials,
    failed_result,
    passed_result,
)

TEST = "tests/test_calc.py"
GREEN = TestResult(id="make test", outcome="passed")
BASE = {"calc.py": "bug", TEST: "old", "tests/test_other.py": "other"}
FIX = {"calc.py": "fixed"}
NEW_TEST = {TEST: "old new"}
ADDED = f"{TEST}::test_added"
OLD = f"{TEST}::test_old"
OTHER = "tests/test_other.py::test_other"


BASE_RUNS = ["on demand"]
"""Mode of base runs: on demand the tests that do not pass on the change, or the whole suite up front."""


@pytest.fixture(autouse=True, params=["on demand", *by_hand("up front")])
def base_runs(request: pytest.FixtureRequest) -> str:
    BASE_RUNS[0] = request.param
    return BASE_RUNS[0]


def suite(files: Files) -> list[TestResult]:
    """Return three tests: one that always passes, one that `breaks` breaks, one that is there once added
    and green once fixed.
    """
    calc, tests = files.get("calc.py", ""), files.get(TEST, "")
    results = [passed_result(OLD)] if "old" in tests else []
    if "new" in tests:
        results.append(passed_result(ADDED) if "fixed" in calc else failed_result(ADDED))
    if "tests/test_other.py" in files:
        results.append(failed_result(OTHER) if "breaks" in calc else passed_result(OTHER))
    return results


def judge(
    tmp_path: Path,
    change: Files,
    *,
    named_tests: Sequence[str] = (),
    base: Files = BASE,
    ending: Callable[[Files], Sequence[TestResult] | RunProblem] = suite,
    issue: str = "",
    by_exit_code: bool = False,
    plain: Callable[[Files], int | None] = lambda _files: None,
) -> Verdict:
    trees = FakeTrees(tmp_path, base, change)
    runner = FakeRunner(ending, by_exit_code=by_exit_code, plain=plain)
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose(issue=issue))
    if BASE_RUNS[0] == "up front":
        verifier.baseline()
    verdict = verifier.examine(verifier.judge(trees.patch, named_tests))
    assert trees.live == 0
    assert verdict.tree == "change"
    return verdict


def in_verdict(result: TestResult, cause: str) -> TestResult:
    """Return the result as a verdict shows it."""
    return result.model_copy(update={"cause": cause})


def test_turning_green_proves_fix(tmp_path: Path, base_runs: str) -> None:
    verdict = judge(tmp_path, {**FIX, **NEW_TEST})
    assert verdict == Verdict(
        kind=VerdictKind.PROVEN,
        reason="1 test went from red to green; "
        "all 2 tests that may use the changed code ran, with no new failure.",
        targets=(ADDED,),
        target_kinds={ADDED: "new"},
        scope="reaching",
        tests_ran=2,
        tests_reaching=2,
        before=Counts(passed=2) if base_runs == "up front" else Counts(partial=True),
        after=Counts(passed=2),
        commands=("pytest",),
        runs=verdict.runs,
        hashes={TEST: sha256(b"old new").hexdigest()},
        stages=verdict.stages,
        seconds=verdict.seconds,
        tree="change",
    )
    runs = [(run.label, run.tests, run.counts.passed, run.counts.failed) for run in verdict.runs]
    is_lazy = base_runs == "on demand"
    assert sorted(runs) == sorted(
        [
            *([] if is_lazy else [("base", (), 2, 0)]),
            ("edited tests as they were", (TEST,), 1, 0),
            ("targets", (TEST,), 2, 0),
            ("targets on the base", (TEST,), 1, 1),
            *([("collection on the base", (TEST,), 0, 0)] if is_lazy else []),
            ("targets, again", (ADDED,), 1, 0),
            ("targets on the base, again", (ADDED,), 0, 1),
        ]
    )


@pytest.mark.parametrize("side", ["fixed", "bug"])
def test_target_that_ends_otherwise_when_it_runs_again_proves_nothing(tmp_path: Path, side: str) -> None:
    seen = Counter[str]()

    def by_turns(files: Files) -> list[TestResult]:
        results = suite(files)
        if "new" in files[TEST]:
            seen[files["calc.py"]] += 1
        if seen[side] < 2 or files["calc.py"] != side:
            return results
        other = failed_result(ADDED) if side == "fixed" else passed_result(ADDED)
        return [other if result.id == ADDED else result for result in results]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, ending=by_turns)
    assert (verdict.kind, verdict.targets) == (VerdictKind.PASSING, ())
    assert "test_added is flaky, so nothing shows" in verdict.reason


@pytest.mark.parametrize("named_tests", [(), (ADDED,)], ids=["found", "named by the strategy"])
def test_existing_red_test_proves_fix(tmp_path: Path, named_tests: tuple[str, ...]) -> None:
    verdict = judge(tmp_path, FIX, named_tests=named_tests, base={**BASE, **NEW_TEST})
    assert (verdict.kind, verdict.target_kinds) == (VerdictKind.PROVEN, {ADDED: "existing"})


def test_that_cannot_fail_proves_nothing(tmp_path: Path) -> None:
    def passing_suite(files: Files) -> list[TestResult]:
        return [passed_result(OLD), *([passed_result(ADDED)] if "new" in files[TEST] else [])]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, named_tests=[ADDED], ending=passing_suite)
    assert verdict.kind == VerdictKind.PASSING
    assert f"{ADDED} passes on the untouched code already" in verdict.notes


def test_red_for_wrong_reason_proves_nothing(tmp_path: Path) -> None:
    def imports(files: Files) -> list[TestResult]:
        return [
            passed_result(ADDED)
            if files["calc.py"] == "fixed"
            else failed_result(TEST, "ImportError", "no name 'x'", when="collect")
        ]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, ending=imports)
    assert verdict.kind == VerdictKind.PASSING
    assert "its file cannot be collected: ImportError: no name 'x'" in verdict.notes[0]


def importing(files: Files) -> list[TestResult]:
    """Return a file of tests that can be collected once the source is fixed."""
    if files["calc.py"] == "bug":
        return [
            failed_result(
                TEST, "ImportError", "cannot import name 'x' from 'calc' (calc.py)", when="collect"
            ),
            passed_result(OTHER),
        ]
    return [
        passed_result(OLD),
        passed_result(ADDED, "skipped") if files["calc.py"] == "fixed" else failed_result(ADDED),
        passed_result(OTHER),
    ]


def test_named_tests_of_uncollectable_file_count_as_red(tmp_path: Path) -> None:
    verdict = judge(tmp_path, FIX, ending=importing, named_tests=[TEST])
    assert (verdict.kind, verdict.targets) == (VerdictKind.PROVEN, (OLD,))


def test_collectable_file_that_stays_red_is_not_fixed(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {"calc.py": "half"}, ending=importing, named_tests=[TEST])
    assert (verdict.kind, [result.id for result in verdict.still_red]) == (VerdictKind.NOT_FIXED, [ADDED])


def test_file_that_no_longer_loads_is_broken(tmp_path: Path) -> None:
    def loads(files: Files) -> list[TestResult]:
        if files["calc.py"] == "bug":
            return suite(files)
        return [failed_result(TEST, "ValueError", "bad", when="collect"), passed_result(OTHER)]

    verdict = judge(tmp_path, {"calc.py": "worse"}, base={**BASE, **NEW_TEST}, ending=loads)
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OLD])


class Tools:
    """Tools of an examination whose linters end once they are told to, as a bounded sandbox makes them."""

    def __init__(self, cutoff: Cutoff, *, asks: bool) -> None:
        """Make tools; a user `asks` for the end while they are at work."""
        self._cutoff, self._asks = cutoff, asks

    def __call__(self, cut: Event) -> ExaminationTools:
        def check(_old: Path, _new: Path, _changed: Sequence[str]) -> LintReport:
            if self._asks:
                assert self._cutoff.request()
            assert cut.wait(10.0)
            return LintReport(new=("late",))

        return ExaminationTools(trials=NoTrials(), checks=check, issue_code=FakeIssueCode())


@pytest.mark.parametrize("asks", [True, False])
def test_examination_that_is_ended_leaves_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    """By the user, or after its time."""
    monkeypatch.setattr(verifier, "LEAST_EXAMINATION", 60.0 if asks else 0.2)
    cutoff = Cutoff()
    trees = FakeTrees(tmp_path, BASE, {**FIX, **NEW_TEST})
    judge = WorktreeVerifier(
        trees=trees,
        runner=FakeRunner(suite),
        purpose=Purpose(),
        cutoff=cutoff,
        tools=Tools(cutoff, asks=asks),
    )
    verdict = judge.examine(judge.judge(trees.patch, ()))
    assert (verdict.kind, verdict.is_examinable, verdict.linters) == (VerdictKind.FIXED, False, None)
    assert [finding.rule for finding in verdict.findings if finding.effect == "open"] == [
        "interrupted" if asks else "unexamined"
    ]
    assert not cutoff.request()


def test_named_test_skipped_as_before_is_no_failure(tmp_path: Path) -> None:
    def skipping(files: Files) -> list[TestResult]:
        return [*suite(files), passed_result(f"{TEST}::test_elsewhere", "skipped")]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, named_tests=[TEST], ending=skipping)
    assert (verdict.kind, verdict.targets) == (VerdictKind.PROVEN, (ADDED,))


def test_red_target_is_not_fixed(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {"calc.py": "other", **NEW_TEST})
    red = (in_verdict(failed_result(ADDED), "logic"),)
    assert (verdict.kind, verdict.still_red) == (VerdictKind.NOT_FIXED, red)
    assert verdict.reason == f"1 test still fails with the change: {ADDED}."


def test_newly_skipped_named_test_is_not_green(tmp_path: Path) -> None:
    def skipping(files: Files) -> list[TestResult]:
        return [passed_result(OLD, "skipped") if files["calc.py"] == "fixed" else failed_result(OLD)]

    verdict = judge(tmp_path, FIX, named_tests=[OLD], ending=skipping)
    assert (verdict.kind, verdict.still_red) == (VerdictKind.NOT_FIXED, (passed_result(OLD, "skipped"),))


@pytest.mark.parametrize(
    ("named_tests", "label"), [((OLD,), "NOT FIXED"), ((), "PASSING")], ids=["named", "not named"]
)
def test_red_test_that_the_change_skips_is_not_fixed(
    tmp_path: Path, named_tests: tuple[str, ...], label: str
) -> None:
    def skipping(files: Files) -> list[TestResult]:
        return [passed_result(OLD, "skipped") if "skip" in files[TEST] else failed_result(OLD)]

    verdict = judge(
        tmp_path, {"calc.py": "other", TEST: "old skip"}, named_tests=named_tests, ending=skipping
    )
    assert verdict.label == label
    assert any("test_old is still red as it was before its edit" in note for note in verdict.notes)


def test_loosened_red_test_lacks_no_tie_where_there_is_no_issue(tmp_path: Path) -> None:
    def loosened(files: Files) -> list[TestResult]:
        return [passed_result(OLD) if "loose" in files[TEST] else failed_result(OLD)]

    verdict = judge(tmp_path, {"calc.py": "other", TEST: "old loose"}, ending=loosened)
    assert verdict.reason.endswith("no test went from red to green.")
    assert any("test_old is still red as it was before its edit" in note for note in verdict.notes)


def test_a_fix_that_breaks_another_file_is_broken(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {"calc.py": "fixed breaks", **NEW_TEST})
    assert (verdict.kind, verdict.targets, verdict.broken) == (
        VerdictKind.BROKEN,
        (ADDED,),
        (in_verdict(failed_result(OTHER), "logic"),),
    )
    assert verdict.reason == f"The change breaks 1 test that passed before: {OTHER}."


@pytest.mark.parametrize("outcome", ["skipped", "xfailed"])
def test_newly_skipped_or_xfailed_test_is_broken(tmp_path: Path, outcome: str) -> None:
    def weakened_suite(files: Files) -> list[TestResult]:
        return [
            passed_result(OTHER, "skipped" if outcome == "skipped" else "xfailed")
            if files["calc.py"] == "fixed"
            else passed_result(OTHER)
        ]

    verdict = judge(tmp_path, FIX, ending=weakened_suite)
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])


def test_deleted_test_is_left_open(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {**FIX, **NEW_TEST, "tests/test_other.py": ""})
    (lost,) = verdict.with_effect("open")
    assert (verdict.kind, lost.text) == (
        VerdictKind.FIXED,
        f"1 test that passed before was removed or skipped: {OTHER}",
    )


def test_no_longer_generated_by_source_is_broken(tmp_path: Path) -> None:
    verdict = judge(
        tmp_path,
        FIX,
        ending=lambda files: [
            passed_result(OLD),
            *([passed_result(OTHER)] if files["calc.py"] == "bug" else []),
        ],
    )
    assert (verdict.kind, [result.id for result in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])


def test_edited_file_that_cannot_be_collected_is_not_fixed(tmp_path: Path) -> None:
    def collecting(files: Files) -> list[TestResult]:
        return (
            [failed_result(TEST, "SyntaxError", "bad", when="collect")]
            if "bad" in files[TEST]
            else [passed_result(OLD)]
        )

    verdict = judge(tmp_path, {TEST: "bad"}, ending=collecting)
    assert (verdict.kind, [result.id for result in verdict.still_red]) == (VerdictKind.NOT_FIXED, [TEST])


class CutRunner(FakeRunner):
    """Runner whose runs of the target alone, as for a second look, do not come to it."""

    def run(self, tree: Path, tests: Sequence[str] = (), **options: Any) -> TestReport:
        report = super().run(tree, tests, **options)
        return (
            report.model_copy(update={"results": (), "problem": OUT_OF_TIME}) if tests == (ADDED,) else report
        )


def test_target_that_a_cut_second_run_does_not_reach_is_not_flaky(tmp_path: Path) -> None:
    """The first run has shown what it does on either side."""
    trees = FakeTrees(tmp_path, BASE, {**FIX, **NEW_TEST})
    verdict = WorktreeVerifier(trees=trees, runner=CutRunner(suite), purpose=Purpose()).judge(trees.patch, ())
    assert verdict.targets == (ADDED,)
    assert not any("flaky" in note for note in verdict.notes)


@pytest.mark.parametrize("side", ["fixed", "bug", "measured"])
def test_flaky_old_test_is_one_note(tmp_path: Path, side: str) -> None:
    """It fails on the change, in both chunks, and again it passes there, or fails on the base.

    Where the second failure says another thing, as a measured time does, a third run decides.
    """
    seen = Counter[str]()

    def flaky(files: Files) -> list[TestResult]:
        place = files["calc.py"]
        seen[place] += 1
        if side == "measured":
            is_red, text = place == "fixed" and seen[place] <= 3, f"took {seen[place]} s"
        else:
            is_red, text = (
                seen[place] <= 2 if side == place == "fixed" else side == "bug" and seen["fixed"] > 0,
                "assert",
            )
        return [failed_result(OTHER, message=text) if is_red else passed_result(OTHER)]

    verdict = judge(tmp_path, FIX, ending=flaky)
    assert (verdict.kind, verdict.broken) == (VerdictKind.PASSING, ())
    assert len(verdict.notes) == 1


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("conftest.py", "", "import os\nos.x = 1"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\n",
            "[tool.pytest.ini_options]\naddopts = '-k not_this'\n",
        ),
        ("setup.cfg", "[metadata]\nname = x\n", "[tool:pytest]\naddopts = -x\n"),
    ],
)
@pytest.mark.parametrize("decides", [False, True])
def test_change_of_how_tests_run_is_passing_if_results_depend_on_it(
    tmp_path: Path, path: str, old: str, new: str, decides: bool
) -> None:
    """Targets run once more with the base's version of the file."""

    def configured(files: Files) -> list[TestResult]:
        results = suite(files)
        if decides and files["calc.py"] == "fixed" and files[path] == new:
            return [passed_result(result.id) for result in results]
        return [failed_result(ADDED) if result.id == ADDED and decides else result for result in results]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST, path: new}, base={**BASE, path: old}, ending=configured)
    assert verdict.targets == (ADDED,)
    if decides:
        assert verdict.kind is VerdictKind.PASSING
        assert f"how tests run was changed ({path})" in verdict.reason
    else:
        assert verdict.kind is VerdictKind.PROVEN
        assert f"the targets are green without the change of {path}, too" in verdict.notes


@pytest.mark.parametrize(
    ("change", "is_unseen"),
    [
        ({"calc.py": "bug  # of old"}, True),
        ({"calc.py": "# of old\nbug", "README.md": "It has one.", ".gitlab-ci.yml": "test: []"}, True),
        ({"calc.py": '"Words that a test may read."\nbug'}, False),
        ({TEST: "old  # E: a comment may say what a test expects"}, False),
        ({"calc.py": "bug(  # does not parse"}, False),
    ],
    ids=["comment", "with prose", "docstring", "in a test", "no Python"],
)
def test_what_tests_cannot_see_is_told_without_a_run(
    tmp_path: Path, change: Files, *, is_unseen: bool
) -> None:
    verdict = judge(tmp_path, change)
    assert verdict.kind is VerdictKind.PASSING
    assert (verdict.reason == "Nothing that tests can see has changed.") is is_unseen
    assert (verdict.after is None) is is_unseen
    assert (verdict.with_effect("cap", "open") == ()) is is_unseen


def test_break_that_a_hook_hides_is_found(tmp_path: Path) -> None:
    def hooked(files: Files) -> list[TestResult]:
        hides = "hook" in files.get("conftest.py", "")
        other = failed_result(OTHER) if files["calc.py"] == "fixed" and not hides else passed_result(OTHER)
        return [*suite(files)[:-1], other]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST, "conftest.py": "hook = 1"}, ending=hooked)
    assert verdict.targets == (ADDED,)
    assert (verdict.kind, verdict.broken) == (VerdictKind.FIXED, ())
    assert f"{OTHER} passes with the change's conftest.py and fails with the old one" in [
        finding.text for finding in verdict.findings
    ]
    assert verdict.tests_ran == 3  # the new test, which ran on the change alone, is among them


@pytest.mark.parametrize("path", ["jest.config.js", "package.json", "packages/a/.mocharc.yml"])
def test_break_that_the_configuration_of_another_runner_hides_is_found(tmp_path: Path, path: str) -> None:
    """All contents run with the base's configuration."""

    class Runner(FakeRunner):
        is_recorded = False

    def run_configured(files: Files) -> list[TestResult]:
        return [result for result in suite(files) if result.id != OTHER or path not in files]

    trees = FakeTrees(tmp_path, BASE, {"calc.py": "breaks", path: "{}"})
    verifier = WorktreeVerifier(trees=trees, runner=Runner(run_configured), purpose=Purpose())
    verdict = verifier.judge(trees.patch, ())
    assert (verdict.kind, [red.id for red in verdict.broken]) == (VerdictKind.BROKEN, [OTHER])


def test_tests_that_need_the_new_configuration_are_run_with_it(tmp_path: Path) -> None:
    class Runner(FakeRunner):
        is_recorded = False

    def run_configured(files: Files) -> list[TestResult] | RunProblem:
        is_lost = files["calc.py"] == "fixed" and "jest.config.js" not in files
        return RunProblem(kind="no_report", text="No test files found.") if is_lost else suite(files)

    change = {**FIX, **NEW_TEST, "jest.config.js": "{}"}
    trees = FakeTrees(tmp_path, BASE, change)
    verdict = WorktreeVerifier(trees=trees, runner=Runner(run_configured), purpose=Purpose()).judge(
        trees.patch, ()
    )
    assert (verdict.kind, verdict.targets) == (VerdictKind.PASSING, (ADDED,))
    assert "how tests run was changed (jest.config.js)" in verdict.reason


def test_break_that_a_configuration_hides_is_no_fix(tmp_path: Path) -> None:
    def run_configured(files: Files) -> list[TestResult]:
        hides = "hides" in files["tox.ini"]
        other = failed_result(OTHER) if files["calc.py"] == "fixed" and not hides else passed_result(OTHER)
        return [*suite(files)[:-1], other]

    change = {**FIX, **NEW_TEST, "tox.ini": "[pytest]\naddopts = hides"}
    verdict = judge(tmp_path, change, base={**BASE, "tox.ini": "[pytest]\n"}, ending=run_configured)
    assert (verdict.kind, verdict.broken) == (VerdictKind.PASSING, ())
    assert "how tests run was changed (tox.ini)" in verdict.reason


@pytest.mark.parametrize("reds", [1, 2])
def test_red_test_counts_once_it_was_seen_twice(tmp_path: Path, reds: int) -> None:
    runs: Counter[str] = Counter()

    def run_flaky(files: Files) -> list[TestResult]:
        if files["calc.py"] != "fixed" or "new" not in files[TEST]:
            return suite(files)
        runs["change"] += 1
        results = suite(files)
        return [
            failed_result(ADDED) if test.id == ADDED and runs["change"] <= reds else test for test in results
        ]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, ending=run_flaky)
    if reds == 1:
        assert (verdict.kind, verdict.targets) == (VerdictKind.PASSING, ())
        assert f"{ADDED} is flaky, so nothing shows that the issue is fixed" in verdict.reason
    else:
        assert (verdict.kind, verdict.still_red[0].id) == (VerdictKind.NOT_FIXED, ADDED)


def test_red_test_that_is_loosened_is_still_red(tmp_path: Path) -> None:
    """The edit alone turns it green, on the base's sources, too."""

    def run_loosened(files: Files) -> list[TestResult]:
        return [passed_result(OLD) if "loose" in files[TEST] else failed_result(OLD)]

    change = {"calc.py": "other", TEST: "def test_old(): loose"}
    base = {**BASE, TEST: "def test_old(): exact"}
    verdict = judge(tmp_path, change, base=base, ending=run_loosened, named_tests=[OLD])
    assert (verdict.kind, [red.id for red in verdict.still_red]) == (VerdictKind.NOT_FIXED, [OLD])


def test_moved_tests_that_passed_before_are_no_targets(tmp_path: Path) -> None:
    moved, names = "tests/test_sums.py", ("test_old", "test_added")

    def run_moved(files: Files) -> list[TestResult]:
        path = moved if moved in files else TEST
        lacks = path == moved and "total" not in files["calc.py"]
        found = [name for name in names if name in files[path]]
        if lacks:
            return [
                failed_result(f"{path}::{name}", "NameError", "name 'total' is not defined") for name in found
            ]
        is_red = "total" not in files["calc.py"]
        return [
            failed_result(f"{path}::{name}")
            if name == "test_added" and is_red
            else passed_result(f"{path}::{name}")
            for name in found
        ]

    base = {"calc.py": "def sum_up(): ...", TEST: "def test_old(): sum_up()"}
    change = {
        "calc.py": "def total(): ...",
        TEST: "",
        moved: "def test_old(): total()\ndef test_added(): total()",
    }
    verdict = judge(tmp_path, change, base=base, ending=run_moved)
    assert verdict.targets == (f"{moved}::test_added",)


def test_tests_that_are_gone_are_counted_beside_new_ones(tmp_path: Path) -> None:
    def run_present(files: Files) -> list[TestResult]:
        names = [name for name in ("test_old", "test_one", "test_two", "test_added") if name in files[TEST]]
        is_red = files["calc.py"] == "bug"
        return [
            failed_result(f"{TEST}::{name}")
            if name == "test_added" and is_red
            else passed_result(f"{TEST}::{name}")
            for name in names
        ]

    old = "def test_old(): ...\ndef test_one(): ...\ndef test_two(): ...\n"
    new = "def test_old(): ...\ndef test_added(): ...\n"
    verdict = judge(tmp_path, {**FIX, TEST: new}, base={**BASE, TEST: old}, ending=run_present)
    assert (verdict.kind, verdict.targets) == (VerdictKind.FIXED, (ADDED,))
    assert f"2 tests that passed before were removed or skipped: {TEST}::test_one, test_two" in [
        found.text for found in verdict.findings
    ]


@pytest.mark.parametrize(
    ("more", "kind"), [("", VerdictKind.NOT_FIXED), ("class TestMore:\n    def test_old(self): ...\n", None)]
)
def test_test_that_the_issue_names_by_its_function_runs(
    tmp_path: Path, more: str, kind: VerdictKind | None
) -> None:
    """Where the name is that of one test alone."""

    def run_red(files: Files) -> list[TestResult]:
        return [failed_result(OLD), *([passed_result(f"{TEST}::TestMore::test_old")] if more else [])]

    base = {**BASE, TEST: f"def test_old(): ...\n{more}"}
    verdict = judge(
        tmp_path, {"calc.py": "other"}, base=base, ending=run_red, issue="see test_old, or test_lib.py"
    )
    assert verdict.kind is (kind or VerdictKind.PASSING)


def test_nothing_is_known_where_no_test_of_the_change_has_ended(tmp_path: Path) -> None:
    def run_slowly(files: Files) -> list[TestResult] | RunProblem:
        is_change = files["calc.py"] == "other"
        return RunProblem(kind="timeout", text="Too slow.") if is_change else suite(files)

    verdict = judge(tmp_path, {"calc.py": "other"}, ending=run_slowly)
    assert verdict.kind is VerdictKind.NOT_TESTED
    assert "No test ended within" in verdict.reason and "--wait" in verdict.reason


def test_packages_alone_are_not_tested(tmp_path: Path) -> None:
    lock = {"uv.lock": "a = 2"}
    verdict = judge(tmp_path, lock, base={**BASE, "uv.lock": "a = 1"})
    assert (verdict.kind, "uv.lock" in verdict.reason) == (VerdictKind.NOT_TESTED, True)
    verdict = judge(tmp_path, {**FIX, **NEW_TEST, **lock}, base={**BASE, "uv.lock": "a = 1"})
    assert verdict.kind is VerdictKind.PROVEN
    assert "tests ran with the installed packages, not with those of uv.lock" in verdict.notes


def test_other_parts_of_a_configuration_file_may_change(tmp_path: Path) -> None:
    change = {**FIX, **NEW_TEST, "pyproject.toml": "[project]\nname = 'x'\n"}
    assert judge(tmp_path, change, base={**BASE, "pyproject.toml": "[project]\n"}).kind == VerdictKind.PROVEN


@pytest.mark.parametrize("kind", ["no_runner", "wrong_code", "usage", "crash"])
def test_a_problem_on_the_change_is_inconclusive(tmp_path: Path, kind: str) -> None:
    problem = RunProblem.model_validate({"kind": kind, "text": "What to do."})
    verdict = judge(
        tmp_path, FIX, ending=lambda files: problem if files["calc.py"] == "fixed" else suite(files)
    )
    assert (verdict.kind, verdict.reason) == (VerdictKind.NOT_TESTED, "What to do.")


def test_a_problem_on_the_base_is_inconclusive(tmp_path: Path) -> None:
    verdict = judge(tmp_path, FIX, ending=lambda _files: RunProblem(kind="no_runner", text="Install pytest."))
    assert verdict.kind is VerdictKind.NOT_TESTED
    assert verdict.reason.endswith("Install pytest.")


@pytest.mark.parametrize(("base", "obstacle"), [("broken", "No pytest."), ("runs", "")])
def test_reproduction_tells_that_no_test_can_run(tmp_path: Path, base: str, obstacle: str) -> None:
    problem = RunProblem(kind="no_report", text="No pytest.")
    trees = FakeTrees(tmp_path, BASE, {**FIX, **NEW_TEST})
    runner = FakeRunner(lambda files: problem if base == "broken" or "new" in files[TEST] else suite(files))
    verifier = WorktreeVerifier(trees=trees, runner=runner, purpose=Purpose())
    verifier.baseline()
    assert verifier.reproduce(trees.patch, ()).obstacle == obstacle


@pytest.mark.parametrize(
    ("calc", "kind", "message"),
    [
        ("fixed", VerdictKind.PASSING, "passes, as before, but `pytest` gives an exit code only"),
        ("breaks", VerdictKind.BROKEN, "passed before the change and fails now"),
    ],
)
def test_a_command_without_reports_that_passed_before_shows_no_fix(
    tmp_path: Path, calc: str, kind: VerdictKind, message: str
) -> None:
    def command(files: Files) -> list[TestResult]:
        return [TestResult(id="make test", outcome="failed" if files["calc.py"] == "breaks" else "passed")]

    verdict = judge(tmp_path, {"calc.py": calc}, ending=command, by_exit_code=True)
    assert verdict.kind == kind
    assert message in verdict.reason


@pytest.mark.parametrize(
    ("output", "change", "kind"),
    [
        ("not ok 2 - adds", {}, VerdictKind.FIXED),
        ("test_add: Assertion `add(1, 2) == 3' failed.", {}, VerdictKind.FIXED),
        ("FAIL: test_add", {}, VerdictKind.FIXED),
        ("make: *** No rule to make target 'test'.  Stop.", {}, VerdictKind.PASSING),
        ("linking failed", {}, VerdictKind.PASSING),
        ("not ok 2 - adds", {"Makefile": "test:\n\ttrue\n"}, VerdictKind.PASSING),
    ],
)
def test_a_command_without_reports_shows_a_fix_by_a_failing_test_in_its_output(
    tmp_path: Path, output: str, change: Files, kind: VerdictKind
) -> None:
    """The base passes with its own tests; with those of the change, the output says why it fails."""

    def command(files: Files) -> list[TestResult]:
        failure = Failure(type="exit code", message="exit code 2", text=output)
        is_red = files["calc.py"] == "bug" and files[TEST] == "new"
        return [TestResult(id="make test", outcome="failed", failure=failure) if is_red else GREEN]

    files = {"calc.py": "fixed", TEST: "new", **change}
    verdict = judge(tmp_path, files, ending=command, by_exit_code=True)
    assert verdict.kind == kind
    assert verdict.targets == (("make test",) if kind is VerdictKind.FIXED or change else ())


def test_a_command_that_fails_as_before_is_an_old_failure(tmp_path: Path) -> None:
    red = TestResult(
        id="make test", outcome="failed", failure=Failure(type="exit code", message="2", text="x")
    )
    verdict = judge(tmp_path, {"calc.py": "other"}, ending=lambda _files: [red], by_exit_code=True)
    assert (verdict.kind, verdict.still_red) == (VerdictKind.PASSING, ())
    assert "`pytest` fails, as before" in verdict.reason


def test_a_named_test_that_exists_nowhere_is_noted(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, named_tests=["tests/test_upstream.py::test_x"])
    assert verdict.kind == VerdictKind.PROVEN
    assert "tests/test_upstream.py::test_x, which was named, does not exist" in verdict.notes


@pytest.mark.parametrize(("expected_value", "kind"), [("3", VerdictKind.PROVEN), ("4", VerdictKind.PASSING)])
def test_doctest_is_target_unless_change_rewrote_it(
    tmp_path: Path, expected_value: str, kind: VerdictKind
) -> None:
    def doctest(files: Files) -> list[TestResult]:
        return [
            failed_result("calc.py::calc.add", "DocTestFailure")
            if "a - b" in files["calc.py"]
            else passed_result("calc.py::calc.add")
        ]

    text = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
    fixed = text.replace("a - b", "a + b").replace("Add.", "Both.").replace("    3", f"    {expected_value}")
    verdict = judge(tmp_path, {"calc.py": fixed}, base={"calc.py": text}, ending=doctest)
    assert (verdict.kind, verdict.targets) == (
        kind,
        ("calc.py::calc.add",) if kind is VerdictKind.PROVEN else (),
    )


def cases(files: Files) -> list[TestResult]:
    """Return one parametrized test, a case for each letter of `calc.py`'s tests, named by position; case
    `b` needs the source not to break it.
    """
    letters = files.get(TEST, "")
    broken = "breaks" in files.get("calc.py", "")
    ids = [(f"{TEST}::test_case[{letter}{position}]", letter) for position, letter in enumerate(letters)]
    return [
        failed_result(test_id) if broken and letter == "b" else passed_result(test_id)
        for test_id, letter in ids
    ]


def test_renumbered_cases_are_not_broken(tmp_path: Path) -> None:
    verdict = judge(tmp_path, {TEST: "axb"}, base={"calc.py": "x", TEST: "ab"}, ending=cases)
    assert (verdict.kind, verdict.broken, verdict.with_effect("open")) == (VerdictKind.PASSING, (), ())


def test_case_that_is_taken_out_and_would_fail_is_contradicted(tmp_path: Path) -> None:
    change = {"calc.py": "breaks", TEST: "axx"}
    verdict = judge(tmp_path, change, base={"calc.py": "x", TEST: "ab"}, ending=cases)
    assert verdict.kind is VerdictKind.PASSING
    assert f"the change and 1 test were edited to agree: {TEST}::test_case[b1]" in verdict.reason
    assert verdict.with_effect("open") == ()


@pytest.mark.parametrize(("test", "kind"), [("assert add", "PASSING"), ("assert sub", "PROVEN")])
def test_new_import_makes_no_target_of_a_test_that_is_as_before(tmp_path: Path, test: str, kind: str) -> None:
    def importing(files: Files) -> list[TestResult]:
        if "sub" in files[TEST] and "sub" not in files["calc.py"]:
            return [
                failed_result(TEST, "ImportError", "cannot import name 'sub' from 'calc'", when="collect")
            ]
        return [passed_result(f"{TEST}::test_add")]

    function = "def test_add():\n    {}\n"
    base = {"calc.py": "add = 1\n", TEST: f"from calc import add\n{function.format('assert add')}"}
    change = {"calc.py": "add = sub = 1\n", TEST: f"from calc import add, sub\n{function.format(test)}"}
    assert judge(tmp_path, change, base=base, ending=importing).kind is VerdictKind[kind]


def test_ids_with_timestamps_are_not_broken(tmp_path: Path) -> None:
    moments = iter(range(100))

    def ticking(files: Files) -> list[TestResult]:
        return [passed_result(f"{OTHER}[{next(moments)}]"), *suite({**files, "tests/test_other.py": ""})]

    verdict = judge(tmp_path, {**FIX, **NEW_TEST}, ending=ticking)
    assert (verdict.kind, verdict.broken) == (VerdictKind.PROVEN, ())


def test_weakened_test_hides_no_breakage(tmp_path: Path) -> None:
    def weakened_suite(files: Files) -> list[TestResult]:
        strict = files["tests/test_other.py"] != "weak"
        others = [failed_result(OTHER) if "breaks" in files["calc.py"] and strict else passed_result(OTHER)]
        return [
            result
            for result in suite({**files, "calc.py": files["calc.py"].replace("breaks", "")})
            if result.id != OTHER
        ] + others

    change = {"calc.py": "fixed breaks", **NEW_TEST, "tests/test_other.py": "weak"}
    verdict = judge(tmp_path, change, ending=weakened_suite)
    contradicted = f"the change edits {OTHER}, whose old version fails now"
    assert contradicted in [finding.text for finding in verdict.with_effect("open")]


def test_target_that_fails_half_of_the_time_is_never_proven(tmp_path: Path) -> None:
    for number in range(20):
        chance = {side: Random(f"{number}, {side}") for side in (FIX["calc.py"], BASE["calc.py"])}

        def is_red(files: Files, chance: Mapping[str, Random] = chance) -> bool:
            return chance[files["calc.py"]].random() < 0.5

        def flaky(files: Files, is_red: Callable[[Files], bool] = is_red) -> list[TestResult]:
            results = [result for result in suite(files) if result.id != ADDED]
            if "new" in files[TEST]:
                results.append(failed_result(ADDED) if is_red(files) else passed_result(ADDED))
            return results

        (tmp_path / str(number)).mkdir()
        verdict = judge(tmp_path / str(number), {**FIX, **NEW_TEST}, ending=flaky, plain=is_red)
        assert verdict.kind is not VerdictKind.PROVEN


def test_tests_unrunnable_on_machine_are_inconclusive(tmp_path: Path) -> None:
    lacking = failed_result(OLD, "ModuleNotFoundError", "No module named 'numpy'")
    verdict = judge(tmp_path, FIX, named_tests=[OLD], ending=lambda _files: [lacking, passed_result(OTHER)])
    assert (verdict.kind, verdict.still_red) == (
        VerdictKind.NOT_TESTED,
        (in_verdict(lacking, "environment"),),
    )
    assert "the package numpy is not installed" in verdict.reason


SETUP = "setup(ext_modules=[Extension('calc._native', ['native.c'])])"
NATIVE = "No module named 'calc._native'"


@pytest.mark.parametrize(
    ("base", "change", "message", "label"),
    [
        ({"setup.py": SETUP}, {TEST: "def test_old(): 1\ndef test_new(): 2"}, NATIVE, "NOT TESTED"),
        (
            {"calc/_native.pyx": "def add(a, b): ..."},
            {"tests/test_more.py": "def test_new(): 2"},
            NATIVE,
            "NOT TESTED",
        ),
        (
            {"setup.py": SETUP},
            {"tests/test_more.py": "def test_new(): 2"},
            "cannot import name '_native' from partially initialized module 'calc' (most likely ...)",
            "NOT TESTED",
        ),
        (
            {"setup.py": SETUP},
            {"tests/test_more.py": "def test_new(): 2"},
            "No module named 'calc.x'",
            "NOT FIXED",
        ),
        (
            {"calc/_native.py": "def add(a, b): ..."},
            {"tests/test_more.py": "def test_new(): 2"},
            NATIVE,
            "NOT FIXED",
        ),
    ],
    ids=["in an old file", "in a new file", "as a name", "not in the project", "in Python"],
)
def test_unbuilt_module_leaves_change_untested(
    tmp_path: Path, base: Files, change: Files, message: str, label: str
) -> None:
    def lacking(files: Files) -> list[TestResult]:
        paths = [path for path in ("tests/test_more.py", TEST) if path in files][:1]
        error = "ImportError" if "name" in message[:20] and "from" in message else "ModuleNotFoundError"
        return [
            *(failed_result(path, error, message, when="collect") for path in paths),
            passed_result(OTHER),
        ]

    verdict = judge(
        tmp_path, {**FIX, **change}, base={**BASE, TEST: "def test_old(): 1", **base}, ending=lacking
    )
    assert verdict.label == label
    if label == "NOT TESTED":
        assert verdict.headline.endswith(
            "cannot be imported, with or without the change; calc._native is not built: "
            "build the project, or name a command: the setting `build`."
        )


@pytest.mark.parametrize(
    ("old", "kind"),
    [("import gone", VerdictKind.PASSING), ("", VerdictKind.NOT_FIXED)],
    ids=["as before", "by the edit"],
)
def test_file_that_could_not_be_imported_before_says_nothing(
    tmp_path: Path, old: str, kind: VerdictKind
) -> None:
    def importing(files: Files) -> list[TestResult]:
        error = failed_result(TEST, "ImportError", "cannot import name 'gone' from 'calc'", when="collect")
        return [error if "gone" in files[TEST] else passed_result(OLD), passed_result(OTHER)]

    tests = "import gone\ndef test_old(): 1\n"
    change = {**FIX, TEST: f"{tests}def test_new(): 2"}
    base = {**BASE, TEST: f"{old}\ndef test_old(): 1\n", "tests/test_other.py": "import calc"}
    verdict = judge(tmp_path, change, base=base, ending=importing)
    assert verdict.kind is kind
    if kind is VerdictKind.PASSING:
        assert f"{TEST} cannot be imported, with or without the change: ImportError" in verdict.reason


def test_unrunnable_suite_is_inconclusive_unless_change_repairs_it(tmp_path: Path) -> None:
    def lacking(files: Files) -> list[TestResult]:
        missing = failed_result(OLD, "ModuleNotFoundError", "No module named 'texts'", when="collect")
        return [passed_result(OLD)] if "texts.py" in files else [missing]

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert judge(tmp_path / "a", FIX, ending=lacking).kind is VerdictKind.NOT_TESTED
    assert judge(tmp_path / "b", {"texts.py": "hello"}, ending=lacking).kind is VerdictKind.PASSING


def run_python(files: Files) -> list[TestResult]:
    """Run the test functions of `TEST` on the functions of `calc.py`, in one namespace."""
    names: dict[str, Any] = {}
    exec(files["calc.py"] + "\n" + files.get(TEST, ""), names)
    results = []
    for name in [name for name in names if name.startswith("test_")]:
        try:
            names[name]()
            results.append(passed_result(f"{TEST}::{name}"))
        except (AssertionError, NameError) as error:
            frame = (TEST, 1, name)
            kind, text = type(error).__name__, str(error)
            results.append(failed_result(f"{TEST}::{name}", kind, text, frames=(frame,)))
    return results


HALF = "def half(n): return n // 2\n"
PLUS = "def read(text): return int(text) + 1\n"
READ = "def read(text): return int(text)\n"
SIGNED = "def test_read_sign(): assert read('-2') == -2\n"
READS = "def test_read(): assert read('2') == 3 - 1\n"
HALVES = "def test_half(): assert half(4) == 2\n"
PARSE, PARSES = (text.replace("read(", "parse(") for text in (READ, READS))


@pytest.mark.parametrize(
    ("sources", "tests", "kind", "text"),
    [
        (READ, SIGNED, "PROVEN", "test_half went with half, which it tests"),
        (HALF.replace("//", "*") + READ, SIGNED, "FIXED", "whose old version fails now"),
        (
            HALF + READ,
            "",
            "PASSING",
            "1 test that passed before was removed or skipped: tests/test_calc.py::test_half",
        ),
    ],
)
def test_tests_removed_with_their_subject(
    tmp_path: Path, sources: str, tests: str, kind: str, text: str
) -> None:
    base = {"calc.py": PLUS + HALF, TEST: HALVES}
    verdict = judge(tmp_path, {"calc.py": sources, TEST: tests}, base=base, ending=run_python)
    assert verdict.label == kind
    assert text in " ".join(finding.text for finding in verdict.findings)


@pytest.mark.parametrize(
    ("tests", "kind", "text"),
    [
        (PARSES, "PROVEN", "test_read went with read, which it tests"),
        (PARSES.replace("test_parse", "test_read"), "FIXED", "whose old version fails now"),
    ],
)
def test_tests_of_renamed_code_follow_it(tmp_path: Path, tests: str, kind: str, text: str) -> None:
    base = {"calc.py": READ + HALF.replace("//", "*"), TEST: READS}
    change = {"calc.py": PARSE + HALF, TEST: tests + HALVES}
    verdict = judge(
        tmp_path, change, base=base, ending=run_python, issue="half(4) is 8. Rename read to parse."
    )
    assert verdict.label == kind
    assert text in " ".join(finding.text for finding in verdict.findings)


@pytest.mark.parametrize("moved", [False, True])
def test_moved_test_is_judged_by_what_it_was(tmp_path: Path, moved: bool) -> None:
    expects = "def test_read(): assert read('2') == {}\n"
    place = "tests/test_moved.py" if moved else TEST
    base = {"calc.py": READ, TEST: expects.format(2) + HALVES.replace("half(4)", "read('2')")}
    change = {"calc.py": PLUS, place: expects.format(3) + "def test_more(): assert read('5') == 6\n"}
    if moved:
        change[TEST] = "\n"

    def run_all(files: Files) -> list[TestResult]:
        results = run_python(files)
        if "tests/test_moved.py" in files:
            results += [
                result.model_copy(update={"id": result.id.replace(TEST, place)})
                for result in run_python({**files, TEST: files[place]})
            ]
        return results

    verdict = judge(tmp_path, change, base=base, ending=run_all)
    assert verdict.label == "FIXED"
    assert [test.rpartition("::")[2] for test in verdict.targets] == ["test_more"]
    assert any("test_read" in finding.text for finding in verdict.with_effect("open"))


def test_red_test_that_nothing_ties_to_the_issue_is_said_to_be_green(tmp_path: Path) -> None:
    base = {"calc.py": HALF.replace("//", "*"), TEST: HALVES}
    trees = FakeTrees(tmp_path, base, {"calc.py": HALF})
    purpose = Purpose(issue="Something else is odd.", needs_ties=True)
    verdict = WorktreeVerifier(trees=trees, runner=FakeRunner(run_python), purpose=purpose).judge(
        trees.patch, ()
    )
    assert verdict.kind is VerdictKind.PASSING
    assert verdict.reason.endswith(
        f"nothing ties what went from red to green to the issue: {TEST}::test_half."
    )


@pytest.mark.parametrize(
    ("codes", "kind"),
    [((1, 0), "PROVEN"), ((None, None), "PROVEN"), ((1, 1), "NOT TESTED"), ((0, 0), "NOT TESTED")],
)
def test_targets_are_confirmed_without_recorder(
    tmp_path: Path, codes: tuple[int | None, int | None], kind: str
) -> None:
    base, change = codes
    verdict = judge(
        tmp_path, {**FIX, **NEW_TEST}, plain=lambda files: change if "fixed" in files["calc.py"] else base
    )
    assert verdict.label == kind
    assert kind == "PROVEN" or "only as long as they are recorded" in verdict.reason


@pytest.mark.parametrize(
    ("error", "kind"), [("SyntaxError: invalid", "BROKEN"), ("ModuleNotFoundError: no attrs", "NOT TESTED")]
)
@pytest.mark.parametrize("tests", [{}, NEW_TEST], ids=["sources alone", "with a test"])
def test_runner_that_cannot_start_for_the_change_tells_a_break(
    tmp_path: Path, error: str, kind: str, tests: Files
) -> None:
    """Such as where conftest.py imports what the change breaks; a package that is missing breaks nothing."""

    def refuse(files: Files) -> list[TestResult] | RunProblem:
        is_change = files["calc.py"] == "fixed"
        return RunProblem(kind="usage", text="pytest refused to run.") if is_change else suite(files)

    trees = FakeTrees(tmp_path, BASE, {**FIX, **tests})
    verifier = WorktreeVerifier(
        trees=trees,
        runner=FakeRunner(refuse),
        purpose=Purpose(),
        find_lost_imports=lambda _old, _new, paths: [f"{path} ({error})" for path in paths],
    )
    verdict = verifier.judge(trees.patch, ())
    assert verdict.kind.value == kind
    assert (error in verdict.reason) is (kind == "BROKEN")


def test_change_that_cannot_be_imported_is_broken_whatever_its_targets_say(tmp_path: Path) -> None:
    trees = FakeTrees(tmp_path, BASE, {**FIX, **NEW_TEST})
    verifier = WorktreeVerifier(
        trees=trees,
        runner=FakeRunner(suite),
        purpose=Purpose(),
        find_lost_imports=lambda _old, _new, paths: [f"{path} (SyntaxError: invalid)" for path in paths],
    )
    verdict = verifier.judge(trees.patch, ())
    assert (verdict.kind, verdict.targets) == (VerdictKind.BROKEN, (ADDED,))
    assert verdict.reason == "The change breaks the import of calc.py (SyntaxError: invalid)."


DATA_TEST = "tests/test_table.py"


def run_table(files: Files) -> list[TestResult]:
    """Return one result for each case of a table: red unless the source has its value."""
    rows = files["tests/table.json"].strip("[]").split(", ")
    ids = [f"{DATA_TEST}::test_value[{row}]" for row in rows]
    return [
        passed_result(name) if row in files["calc.py"].split() else failed_result(name)
        for row, name in zip(rows, ids, strict=True)
    ]


@pytest.mark.parametrize(
    ("calc", "table", "label"), [("n = 1 + 32", "[1, 32]", "PROVEN"), ("n = 1 + 30", "[1, 30]", "PASSING")]
)
def test_case_of_edited_data_does_not_replace_a_red_one(
    tmp_path: Path, calc: str, table: str, label: str
) -> None:
    base = {
        "calc.py": "n = 1",
        "tests/table.json": "[1, 32]",
        DATA_TEST: "import calc\n\ndef test_value():\n    open('table.json')\n",
    }
    verdict = judge(tmp_path, {"calc.py": calc, "tests/table.json": table}, base=base, ending=run_table)
    assert verdict.label == label
