from datetime import UTC, datetime, timedelta

from coder.core.events import (
    BaselineMeasured,
    MessageFinished,
    PhaseEntered,
    Record,
    TestsEnded,
    TestsStarted,
    ToolFinished,
    Verified,
    Warned,
    stage_seconds,
)
from coder.core.messages import AssistantMessage, ToolMessage
from coder.core.verdict import Counts, TestRun, Verdict, VerdictKind

START = datetime(2026, 1, 1, tzinfo=UTC)


def _records(*events_at: tuple[float, object]) -> list[Record]:
    return [
        Record.model_validate({"number": number, "at": START + timedelta(seconds=at), "event": event})
        for number, (at, event) in enumerate(events_at, start=1)
    ]


def test_stages_add_up_to_the_wall_clock() -> None:
    verdict = Verdict(kind=VerdictKind.PROVEN, reason="")
    run = TestRun(label="targets", command="pytest", counts=Counts(passed=1))
    records = _records(
        (0, Warned(text="")),
        (3, BaselineMeasured(command="pytest", counts=Counts(), failing=(), seconds=2.0)),
        (23, MessageFinished(candidate="c1", message=AssistantMessage(text="x"))),
        (24, ToolFinished(candidate="c1", message=ToolMessage(call_id="1", name="x", text=""), seconds=1.0)),
        (28, TestsEnded(candidate="c1", stage="targets", run=run)),
        (38, TestsEnded(candidate="c1", stage="impacted", run=run)),
        (44, Verified(candidate="c1", attempt=1, verdict=verdict)),
    )
    stages = stage_seconds(records, total=50.0)
    assert stages == {
        "base": 3.0,
        "model": 20.0,
        "tools": 1.0,
        "targets": 4.0,
        "impacted": 10.0,
        "checks": 6.0,
        "other": 6.0,
    }


def test_waits_and_runs_before_a_verdict_have_stages() -> None:
    run = TestRun(label="reproduction", command="pytest", counts=Counts(failed=1))
    records = _records(
        (0, Warned(text="")),
        (10, PhaseEntered(candidate="c1", phase="locate", attempt=1)),
        (14, PhaseEntered(candidate="c1", phase="locate", attempt=1)),
        (15, TestsStarted(candidate="c1", label="reproduction", tests=1)),
        (18, TestsEnded(candidate="c1", stage="reproduction", run=run)),
    )
    assert stage_seconds(records, total=18.0) == {
        "base": 10.0,
        "search": 4.0,
        "reproduction": 3.0,
        "checks": 1.0,
        "other": 0.0,
    }
