from datetime import UTC, datetime

from coder.core.events import CandidateDropped, Event, FilesChanged, NoteMade, Record, Verified
from coder.core.notes import Diagnosis, GiveUp, Sites
from coder.core.values.verdict import Failure, Frame, TestResult, Verdict, VerdictKind
from coder.session.delivery.report import session_report

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
    records = [
        Record(number=number, at=datetime(2026, 1, 1, tzinfo=UTC), event=event)
        for number, event in enumerate(events, 1)
    ]
    return session_report(records)


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
        "## Where the fault may be\n"
        "- b.py\n"
        "- a.py::work\n"
        "- a.py:9 (in work)\n"
        "\n"
        "## The cheapest next step\n"
        "Run tests/test_a.py::test_a with a breakpoint at the first place above.\n"
        "\n"
        "## In short\n"
        "It is deeper.\nLook at b.py."
    )


def test_says_when_nothing_was_verified() -> None:
    gave_up = NoteMade(candidate="c1", phase="locate", note=GiveUp(summary="It is no bug."))
    assert report_text(gave_up) == "## What was tried\nNothing was verified."


def test_reports_nothing_when_nothing_was_done() -> None:
    assert report_text() == ""


def test_keeps_and_shows_closest_patch() -> None:
    worse = NOT_FIXED.model_copy(update={"broken": NOT_FIXED.still_red})
    text = report_text(
        FilesChanged(candidate="c1", paths=("a.py",), diff="+worse\n"),
        Verified(candidate="c1", attempt=1, verdict=worse),
        FilesChanged(candidate="c2", paths=("a.py",), diff="+nearer\n"),
        Verified(candidate="c2", attempt=1, verdict=NOT_FIXED),
    )
    assert "Not applied. Saved: coder log diff last\n```diff\n+nearer\n```" in text
    assert "+worse" not in text


def test_reports_dropped_candidate_with_reason() -> None:
    gave_up = NoteMade(candidate="c1", phase="locate", note=GiveUp(summary="no"))
    assert "- c2 went no further: The server is down." in report_text(
        gave_up, CandidateDropped(candidate="c2", reason="The server is down.")
    )
