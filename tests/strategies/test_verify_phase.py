from dataclasses import replace
from pathlib import Path

from coder.core.events import NoteMade, Verified
from coder.core.notes import Done
from coder.core.verdict import TestResult, Verdict, VerdictKind
from coder.strategies.verify_phase import attempt_number, excluded_tests, requested_tests
from tests.session.fakes import STILL_RED, kit


def test_missing_system_package_spends_no_attempt(tmp_path: Path) -> None:
    context = kit(tmp_path)
    red = TestResult(id="t.py::test_a", outcome="failed", cause="environment")
    verdict = Verdict(kind=VerdictKind.INCONCLUSIVE, reason="It cannot run.", still_red=(red,))
    context.log.append(Verified(candidate="c1", attempt=1, verdict=verdict))
    assert attempt_number(context) == 1
    context.log.append(Verified(candidate="c1", attempt=1, verdict=STILL_RED))
    assert attempt_number(context) == 2


def test_user_and_model_exclude_tests_but_not_the_commanded_one(tmp_path: Path) -> None:
    context = kit(tmp_path)
    task = context.task.model_copy(
        update={"unrelated_tests": ("t.py::old",), "test_command": "pytest t.py::test_a"}
    )
    context = replace(context, task=task)
    note = Done(summary="s", unrelated_tests=("t.py::wording", "t.py::test_a"))
    context.log.append(NoteMade(candidate="c1", phase="edit", note=note))
    candidate = context.repository.create_candidate("c1")
    assert excluded_tests(context, candidate) == ("t.py::old", "t.py::wording")


def test_ids_of_sample_output_request_nothing(tmp_path: Path) -> None:
    issue = "tests/test_a.py::test_a fails; pytest prints `test_sample.py::test_answer FAILED`"
    context = kit(tmp_path, issue=issue)
    candidate = context.repository.create_candidate("c1")
    assert requested_tests(context, candidate) == ("tests/test_a.py::test_a",)
