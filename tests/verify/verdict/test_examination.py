"""Second examination of a change that broke nothing."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Event

import pytest

from coder.core.paths import is_test_path
from coder.core.ports import Limits
from coder.core.verdict import LintReport, TestReport, Verdict, VerdictKind
from coder.sandbox.process import ProcessSandbox
from coder.verify.examination import ExaminationTools, ExaminedChange, examine_change
from coder.verify.example import IssueCodeAnswers
from coder.verify.verdict import Facts, decide
from coder.warm.trials import PytestTrials
from tests.builders import find_project, write
from tests.verify.fakes import FakeIssueCode, NoTrials, passed_result

SOURCE = "def add(a, b):\n    return a + b\n"
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
ADDED = "tests/test_calc.py::test_add"
BUGGY, TESTED = {"calc.py": SOURCE.replace("+", "-")}, {"calc.py": SOURCE, "tests/test_calc.py": TEST}
PROVEN = (ADDED,)
PASSING = ()
Examine = Callable[..., Verdict]


@pytest.fixture
def look(tmp_path: Path, sandbox: ProcessSandbox) -> Examine:
    """Return a function that examines a change of files, with scripted linters and scripts."""

    def examine_files(
        old: dict[str, str],
        new: dict[str, str],
        targets: tuple[str, ...],
        *,
        checked: LintReport = LintReport(),  # noqa: B008 (a frozen value)
        strict: bool = False,
        errors: tuple[str, ...] = (),
        has_mutants: bool = False,
    ) -> Verdict:
        write(tmp_path / "old", {"keep.py": "", **old})
        write(tmp_path / "new", {"keep.py": "", **new})
        project = find_project(tmp_path / "new", sandbox=sandbox, environment={})
        tools = ExaminationTools(
            trials=(
                PytestTrials(
                    project=project,
                    sandbox=sandbox,
                    scratch=sandbox.scratch,
                    limits=Limits(memory_bytes=None),
                )
                if has_mutants
                else NoTrials()
            ),
            checks=lambda _old, _new, _changed: checked,
            issue_code=FakeIssueCode(IssueCodeAnswers(persisting=errors)),
            strict=strict,
        )
        facts = Facts(
            before=TestReport(command="pytest"),
            targets=targets,
            is_examined=True,
            after=TestReport(command="pytest", results=(passed_result(ADDED),)),
        )
        if not targets:
            facts.cap("no-target", "no test went from red to green")
        changed = sorted(path for path in {**old, **new} if old.get(path) != new.get(path))
        change = ExaminedChange(
            old=tmp_path / "old",
            checkout=lambda side: nullcontext(tmp_path / ("old" if side == "tests" else "new")),
            new=tmp_path / "new",
            changed=changed,
            sources=[path for path in changed if not is_test_path(path)],
            facts=facts,
        )
        examine_change(change, tools, cut=Event(), issue="", progress=None)
        return decide(facts)

    return examine_files


def test_error_of_the_issue_that_persists_is_not_proven(look: Examine) -> None:
    verdict = look(
        *(BUGGY, TESTED, PROVEN),
        errors=("`add('')` of the issue raises TypeError as before: no number",),
    )
    assert verdict.kind is VerdictKind.PASSING
    assert verdict.reason == (
        "1 test went from red to green, and nothing that passed before fails now, "
        "but `add('')` of the issue raises TypeError as before: no number."
    )


def test_closely_tested_fix_has_no_notes(look: Examine) -> None:
    verdict = look(BUGGY, TESTED, PROVEN, has_mutants=True)
    assert verdict.mutation is not None
    assert (verdict.mutation.tried, verdict.mutation.survivors) == (2, ())
    assert (verdict.kind, verdict.notes) == (VerdictKind.PROVEN, ())


@pytest.mark.parametrize(("strict", "kind"), [(False, VerdictKind.PROVEN), (True, VerdictKind.FIXED)])
def test_counts_new_linter_findings_where_project_requires(
    look: Examine, strict: bool, kind: VerdictKind
) -> None:
    checked = LintReport(new=("ruff: calc.py:1: F401",), ran=("ruff",))
    verdict = look(
        *(BUGGY, TESTED, PROVEN),
        checked=checked,
        strict=strict,
    )
    assert (verdict.kind, verdict.linters) == (kind, checked)
    assert "ruff: calc.py:1: F401" in verdict.notes
