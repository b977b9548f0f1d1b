from coder.core.events import Event, FilesChanged, NoteMade, Verified
from coder.core.notes import Diagnosis, GiveUp, Sites
from coder.core.verdict import Failure, Frame, TestResult, Verdict, VerdictKind
from coder.session.report import session_report
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
