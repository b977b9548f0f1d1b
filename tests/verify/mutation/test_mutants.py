"""Parts of a change that no test would miss, and the examination of a passing change."""

import ast
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from threading import Event

import pytest

from coder.core.ports import Edit, Limits, TrialResult
from coder.core.verdict import LintReport, MutationReport, TestReport, UntestedPlace, Verdict, VerdictKind
from coder.sandbox.process import ProcessSandbox
from coder.verify.change import JudgedChange, Purpose
from coder.verify.examine import (
    ExaminationTools,
    Mutant,
    examine_change,
    generate_mutants,
    mutate_change,
    reverted_hunks,
    summarize_mutants,
)
from coder.verify.verdict import Facts, decide
from coder.warm.trials import PytestTrials
from tests.builders import find_project, write
from tests.verify.fakes import FakeIssueCode, FakeTrees, NoTrials, passed_result

OLD = """def clamp(value, low, high):
    if value < low:
        return low
    return value


def name():
    return "a"
"""
NEW = """def clamp(value, low, high):
    # both ends belong to it
    if value <= low:
        return low
    if value > high and high is not None:
        return high
    return value


def name():
    return "b"
"""


def apply(mutant: Mutant, text: str) -> str:
    return mutant.as_edit(()).apply(text)


def outcome_of(text: str) -> str:
    """Return how two tests, of the clamp alone, fare."""
    space: dict[str, object] = {}
    exec(text, space)  # the test's own text
    clamp = space["clamp"]
    assert callable(clamp)
    return "passed" if [clamp(5, 1, 3), clamp(0, 1, 3)] == [3, 1] else "broke"


def test_reports_untested_line() -> None:
    mutants = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    report = summarize_mutants(mutants, [outcome_of(apply(mutant, NEW)) for mutant in mutants])
    assert report == MutationReport(
        survivors=(
            UntestedPlace(path="clamp.py", line=2, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=11, what="is as it was before", whole_hunk=True),
            UntestedPlace(path="clamp.py", line=5, what="says `value > high or high is not None`"),
        ),
        tried=6,
    )


def test_each_mutant_parses_and_differs() -> None:
    mutants = list(generate_mutants("clamp.py", OLD, NEW))
    texts = [apply(mutant, NEW) for mutant in mutants]
    assert {mutant.line for mutant in mutants} == {3, 5, 6, 11}
    assert all(ast.dump(ast.parse(text)) != ast.dump(ast.parse(NEW)) for text in texts)
    assert len(set(texts)) == len(texts)


def test_a_form_feed_ends_no_line() -> None:
    before = "\x0c\n" * 3
    mutants = [*reverted_hunks("clamp.py", before + OLD, before + NEW)]
    mutants += generate_mutants("clamp.py", before + OLD, before + NEW)
    plain = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    assert [mutant.line - 3 for mutant in mutants] == [mutant.line for mutant in plain]


def test_skips_comments_docstrings_and_unparsable_mutants() -> None:
    old = "def f():\n    return 1\n"
    new = 'def f():\n    "A word."\n    # more\n    return 1\n'
    assert list(reverted_hunks("a.py", old, new)) == []
    assert list(generate_mutants("a.py", old, "def f(:\n")) == []


@pytest.mark.parametrize(
    ("outcomes", "report"),
    [
        (["cold"] * 7, MutationReport()),
        ([], MutationReport(ended=False)),
        (["broke", "timeout"], MutationReport(tried=2, ended=False)),
    ],
)
def test_ignores_inconclusive_mutants_and_respects_time_limit(
    outcomes: list[str], report: MutationReport
) -> None:
    mutants = [*reverted_hunks("clamp.py", OLD, NEW), *generate_mutants("clamp.py", OLD, NEW)]
    assert summarize_mutants(mutants[:7], outcomes) == report


@pytest.mark.parametrize(
    ("old", "new", "reverted"),
    [
        ("", "def clamp(x):\n    return x\n", 0),
        ("import os\n\n\nx = 1\n", "import os\nfrom re import (\n    sub,\n)\n\n\nx = 1\n", 0),
        ("import os\nx = 1\n", "import re\nx = 2\n", 1),
    ],
)
def test_what_is_imported_already_is_not_reverted(old: str, new: str, reverted: int) -> None:
    assert len([*reverted_hunks("a.py", old, new)]) == reverted


OLD_ADDING = "def low(x):\n    return x\n\n\ndef high(x):\n    return x\n"
NEW_ADDING = "def low(x):\n    return x + 1\n\n\ndef high(x):\n    return x + 2\n"
TESTS = "from src import low, high\n\n\ndef test_low():\n    assert low(1) == 2\n"


def test_names_hunks_that_no_target_notices(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for place, source in ((old, OLD_ADDING), (new, NEW_ADDING)):
        place.mkdir()
        (place / "src.py").write_text(source)
        (place / "test_low.py").write_text(TESTS)
    project = find_project(new, sandbox=sandbox, environment={})
    limits = Limits(memory_bytes=None)
    trials = PytestTrials(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits)
    report = mutate_change(old, new, ["src.py"], tests=["test_low.py::test_low"], trials=trials, seconds=10.0)
    assert report is not None
    assert report.survivors == (
        UntestedPlace(path="src.py", line=6, what="is as it was before", whole_hunk=True),
    )
    assert report.ended
    untold = mutate_change(
        old, new, ["src.py"], tests=["test_low.py::test_gone"], trials=trials, seconds=10.0
    )
    assert untold is None or untold.tried == 0


class QuickTrials:
    """Trials that notice everything, and have time for eight edits."""

    def try_out(
        self,
        _tree: Path,
        _tests: Sequence[str],
        edits: Sequence[Edit],
        *,
        seconds: float,
    ) -> Generator[TrialResult]:
        assert seconds == 10.0
        self.edits = edits[:8]
        for edit in self.edits:
            yield TrialResult(edit=edit, outcome="broke")


def test_sources_take_turns(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write(old, {"a.py": "X = 0\n", "b.py": "X = 0\n"})
    write(new, {"a.py": "X = 0\nA = 1\nB = 2\n", "b.py": "X = 0\nC = 3\nD = 4\n"})
    trials = QuickTrials()
    report = mutate_change(
        old, new, ["a.py", "b.py"], tests=["test_a.py::test_it"], trials=trials, seconds=10.0
    )
    assert [edit.path for edit in trials.edits] == [*("a.py", "b.py") * 4]
    assert report is not None
    assert (report.tried, report.ended) == (8, False)


SOURCE = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
ADDED = "tests/test_calc.py::test_add"
BUGGY, TESTED = {"calc.py": SOURCE.replace("+", "-")}, {"calc.py": SOURCE, "tests/test_calc.py": TEST}
Examine = Callable[..., Verdict]


@pytest.fixture
def look(tmp_path: Path, sandbox: ProcessSandbox) -> Examine:
    """Return a function that examines a proven fix, with scripted linters and scripts."""

    def examine_fix(
        *,
        checked: LintReport = LintReport(),  # noqa: B008 (a frozen value)
        strict: bool = False,
        errors: tuple[str, ...] = (),
        has_mutants: bool = False,
    ) -> Verdict:
        trees = FakeTrees(tmp_path, {"keep.py": "KEPT = 1\n", **BUGGY}, TESTED)
        write(tmp_path / "new", trees.trees["change"])
        project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
        limits = Limits(memory_bytes=None)
        tools = ExaminationTools(
            trials=PytestTrials(project=project, sandbox=sandbox, scratch=sandbox.scratch, limits=limits)
            if has_mutants
            else NoTrials(),
            checks=lambda _old, _new, _changed: checked,
            issue_code=FakeIssueCode(errors),
            strict=strict,
        )
        facts = Facts(
            before=TestReport(command="pytest"),
            targets=(ADDED,),
            is_examined=True,
            after=TestReport(command="pytest", results=(passed_result(ADDED),)),
        )
        change = JudgedChange(trees=trees, tree="change", purpose=Purpose(), before=facts.before)
        examine_change(change, facts, tools, cut=Event(), progress=None)
        return decide(facts)

    return examine_fix


def test_error_of_the_issue_that_persists_is_not_proven(look: Examine) -> None:
    verdict = look(errors=("`add('')` of the issue raises TypeError as before: no number",))
    assert verdict.kind is VerdictKind.PASSING
    assert verdict.reason == (
        "1 test went from red to green, and nothing that passed before fails now, "
        "but `add('')` of the issue raises TypeError as before: no number."
    )


def test_closely_tested_fix_has_no_notes(look: Examine) -> None:
    verdict = look(has_mutants=True)
    assert verdict.mutation is not None
    assert (verdict.mutation.tried, verdict.mutation.survivors) == (2, ())
    assert (verdict.kind, verdict.notes) == (VerdictKind.PROVEN, ())


@pytest.mark.parametrize(("strict", "kind"), [(False, VerdictKind.PROVEN), (True, VerdictKind.FIXED)])
def test_counts_new_linter_findings_where_project_requires(
    look: Examine, strict: bool, kind: VerdictKind
) -> None:
    checked = LintReport(new=("ruff: calc.py:1: F401",), ran=("ruff",))
    verdict = look(checked=checked, strict=strict)
    assert (verdict.kind, verdict.linters) == (kind, checked)
    assert "ruff: calc.py:1: F401" in verdict.notes
