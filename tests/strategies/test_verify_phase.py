from dataclasses import replace
from pathlib import Path

from coder.core.events import FilesChanged, NoteMade, Verified
from coder.core.notes import Done
from coder.core.verdict import TestResult, Verdict, VerdictKind
from coder.session.judging import attempt_number, attempts_left, excluded_tests, requested_tests
from tests.session.fakes import STILL_RED, UNTESTED, kit


def test_missing_system_package_spends_no_attempt(tmp_path: Path) -> None:
    context = kit(tmp_path)
    red = TestResult(id="t.py::test_a", outcome="failed", cause="environment")
    verdict = Verdict(kind=VerdictKind.NOT_TESTED, reason="It cannot run.", still_red=(red,))
    context.log.append(Verified(candidate="c1", attempt=1, verdict=verdict))
    assert attempt_number(context) == 1
    context.log.append(Verified(candidate="c1", attempt=1, verdict=STILL_RED))
    assert attempt_number(context) == 2


def change(path: str, value: int) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x = 0\n+x = {value}\n"


def test_only_red_verdicts_of_new_sources_are_attempts(tmp_path: Path) -> None:
    context = kit(tmp_path)
    attempts = []
    for source, test, verdict in (
        (1, 1, STILL_RED),  # an attempt
        (1, 1, STILL_RED),  # the same diff again
        (1, 2, STILL_RED),  # another test
        (2, 2, UNTESTED),  # PASSING
        (3, 2, STILL_RED),  # an attempt, after a PASSING change was changed again
    ):
        diff = change("a.py", source) + change("tests/test_a.py", test)
        context.log.append(FilesChanged(candidate="c1", paths=("a.py", "tests/test_a.py"), diff=diff))
        context.log.append(Verified(candidate="c1", attempt=1, verdict=verdict))
        attempts.append(attempt_number(context) - 1)
    assert attempts == [1, 1, 1, 1, 2]


def test_changes_of_tests_alone_come_to_an_end(tmp_path: Path) -> None:
    context = kit(tmp_path)
    for test in range(2 * context.task.budget.attempts):
        assert attempts_left(context) > 0
        diff = change("tests/test_a.py", test)
        context.log.append(FilesChanged(candidate="c1", paths=("tests/test_a.py",), diff=diff))
        context.log.append(Verified(candidate="c1", attempt=1, verdict=STILL_RED))
    assert attempts_left(context) == 0


def test_user_and_model_exclude_tests_but_not_the_commanded_one(tmp_path: Path) -> None:
    context = kit(tmp_path)
    task = context.task.model_copy(
        update={"unrelated_tests": ("t.py::old",), "test_command": "pytest t.py::test_a"}
    )
    context = replace(context, task=task)
    note = Done(summary="s", unrelated_tests=("t.py::wording", "t.py::test_a"))
    context.log.append(NoteMade(candidate="c1", phase="edit", note=note))
    candidate = context.repository.create_candidate("c1")
    assert excluded_tests(context.on(candidate)) == ("t.py::old", "t.py::wording")


def test_ids_of_sample_output_request_nothing(tmp_path: Path) -> None:
    issue = "tests/test_a.py::test_a fails; pytest prints `test_sample.py::test_answer FAILED`"
    context = kit(tmp_path, issue=issue)
    candidate = context.repository.create_candidate("c1")
    assert requested_tests(context.on(candidate)) == ("tests/test_a.py::test_a",)
