from collections.abc import Sequence

import pytest

from coder.core.errors import UserError
from coder.core.events import Event, FilesChanged, NoteMade, Verified
from coder.core.notes import Diagnosis, GiveUp, Sites
from coder.core.verdict import Failure, Frame, TestResult, Verdict, VerdictKind
from coder.session.report import find_attempt, session_report
from tests.records import make_records

FRAMES = (
    Frame(path="tests/test_a.py", line=3, function="test_a"),
    Frame(path="a.py", line=9, function="work"),
)
RED = TestResult(
    id="tests/test_a.py::test_a",
    outcome="failed",
    failure=Failure(type="AssertionError", message="1 != 2\nmore", frames=FRAMES),
)
NOT_FIXED = Verdict(kind=VerdictKind.PASSING, reason="It is still red.", still_red=(RED,))


def report_text(*events: Event) -> str:
    return session_report(make_records(*events))


def test_reports_attempts_suspects_and_last_message() -> None:
    text = report_text(
        NoteMade(
            candidate="c1", phase="locate", note=Sites(summary="A sign is wrong.", places=("a.py::work",))
        ),
        FilesChanged(candidate="c1", paths=("a.py",), diff=""),
        Verified(candidate="c1", attempt=1, verdict=NOT_FIXED),
        NoteMade(candidate="c1", phase="diagnose", note=Diagnosis(summary="It was the other sign.")),
        Verified(candidate="c1", attempt=2, verdict=NOT_FIXED),
        NoteMade(
            candidate="c1",
            phase="explain",
            note=GiveUp(summary="It is deeper.\nLook at b.py.", places=("b.py",)),
        ),
    )
    assert text == (
        "## What was tried\n"
        "1. A sign is wrong. (a.py): It is still red.\n"
        "   - tests/test_a.py::test_a: AssertionError: 1 != 2\n"
        "2. It was the other sign. (a.py): It is still red.\n"
        "   - tests/test_a.py::test_a: AssertionError: 1 != 2\n"
        "\n"
        "## Where to look\n"
        "- b.py\n"
        "- a.py::work\n"
        "- a.py:9 (in work)\n"
        "\n"
        "## In short\n"
        "It is deeper.\nLook at b.py."
    )


def test_has_no_empty_section_when_nothing_was_verified() -> None:
    gave_up = NoteMade(candidate="c1", phase="locate", note=GiveUp(summary="It is no bug."))
    assert report_text(gave_up) == ""


BROKEN = NOT_FIXED.model_copy(update={"kind": VerdictKind.BROKEN, "broken": NOT_FIXED.still_red})
UNTESTED = Verdict(kind=VerdictKind.PASSING, reason="No test went from red to green.")


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        ((BROKEN, NOT_FIXED), 2),
        ((NOT_FIXED, BROKEN), 1),
        ((NOT_FIXED, NOT_FIXED), 2),
        ((UNTESTED, NOT_FIXED, BROKEN), 1),
    ],
)
def test_shows_attempt_with_best_verdict(verdicts: Sequence[Verdict], best: int) -> None:
    events: list[Event] = []
    for number, verdict in enumerate(verdicts, 1):
        events.append(FilesChanged(candidate="c1", paths=("a.py",), diff=f"+change {number}\n"))
        events.append(Verified(candidate="c1", attempt=number, verdict=verdict))
    text = report_text(*events)
    assert f"## The best attempt: {best}, {verdicts[best - 1].label}, not applied\n" in text
    assert f"Apply it: coder apply last --attempt {best}\n```diff\n+change {best}\n```" in text
    assert ("breaks no test" in text) is (verdicts[best - 1] is UNTESTED)


def test_attempt_is_found_by_its_number() -> None:
    changed = FilesChanged(candidate="c1", paths=("a.py",), diff="+a\n")
    verified = Verified(candidate="c1", attempt=1, verdict=BROKEN)
    records = make_records(verified, changed, verified)
    assert find_attempt(records, 2).diff == "+a\n"
    with pytest.raises(UserError, match="verified 2 changes; there is no attempt 3"):
        find_attempt(records, 3)
    with pytest.raises(UserError, match="Attempt 1 changed nothing"):
        find_attempt(records, 1)
