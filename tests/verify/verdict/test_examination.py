"""Second examination of a change that broke nothing."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from coder.core.ports import Limits
from coder.core.verdict import LintReport, TestReport, Verdict, VerdictKind
from coder.sandbox.process import ProcessSandbox
from coder.verify.change import JudgedChange, Purpose
from coder.verify.examine import ExaminationTools, examine_change
from coder.verify.verdict import Facts, decide
from coder.warm.trials import PytestTrials
from tests.builders import find_project, write
from tests.verify.fakes import FakeIssueCode, FakeTrees, NoTrials, passed_result

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
