"""Folds over the event log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coder.core.events import (
    NOBODY,
    BaselineMeasured,
    BudgetSpent,
    CandidateForked,
    ContextCompacted,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    Record,
    SessionFinished,
    SessionStarted,
    Task,
    TestsEnded,
    TestsStarted,
    ToolFinished,
    Verified,
    Warned,
    stage_seconds,
)
from coder.core.notes import Diagnosis, Done
from coder.core.state import candidate_messages, describe_context, next_mode, session_status, unrelated_tests
from coder.core.values import AssistantMessage, ToolCall, ToolMessage, Usage, UsageTotals, UserMessage
from coder.core.verdict import Counts, TestRun, Verdict, VerdictKind
from coder.session.log import EventLog
from tests.records import make_records

HELLO = UserMessage(text="hello")
CALLS = AssistantMessage(
    calls=(ToolCall(id="1", name="read", arguments="{}"), ToolCall(id="2", name="search", arguments="{}"))
)
FIRST = ToolMessage(call_id="1", name="read", text="x" * 1000)
SECOND = ToolMessage(call_id="2", name="search", text="short")


def message_event(message: UserMessage | AssistantMessage, candidate: str = "c1") -> MessageFinished:
    return MessageFinished(candidate=candidate, message=message)


def result_event(message: ToolMessage, candidate: str = "c1") -> ToolFinished:
    return ToolFinished(candidate=candidate, message=message, seconds=0.1)


def test_messages_between_call_and_result_come_after_results() -> None:
    words = UserMessage(text="by the way")
    log = make_records(
        message_event(HELLO),
        message_event(CALLS),
        message_event(words),
        result_event(FIRST),
        result_event(SECOND),
    )
    assert candidate_messages(log, "c1") == (HELLO, CALLS, FIRST, SECOND, words)
    assert candidate_messages(log[:4], "c1") == (HELLO, CALLS, FIRST)


def test_status_holds_the_newest_of_everything() -> None:
    log = make_records(
        PhaseEntered(candidate="c1", phase="locate", attempt=1),
        BudgetSpent(candidate="c1", usage=Usage(), total=UsageTotals(requests=3)),
        PhaseEntered(candidate="c1", phase="repair", attempt=2),
    )
    now = session_status(log)
    assert (now.phase, now.attempt, now.spent.requests, now.seconds) == ("repair", 2, 3, 2.0)


@pytest.mark.parametrize(
    ("model", "kind", "mode"),
    [
        ("acme:large", VerdictKind.FIXED, "change"),
        ("acme:large", VerdictKind.GAVE_UP, "fix"),
        ("acme:large", None, "fix"),
        (NOBODY, VerdictKind.PROVEN, "fix"),
    ],
)
def test_goes_on_with_a_change_after_a_result_where_a_model_is(
    model: str, kind: VerdictKind | None, mode: str
) -> None:
    started = SessionStarted(
        session="s",
        task=Task(issue="x", directory=Path("repo")),
        repository="repo",
        head="c0ffee",
        base="c0ffee",
        dirty=False,
        model=model,
        version="1",
    )
    ended = SessionFinished(kind=kind, summary="", exit_code=kind.exit_code if kind else 130)
    assert next_mode(make_records(started, ended)) == mode


def test_counts_attempts_of_furthest_candidate_only() -> None:
    log = make_records(
        PhaseEntered(candidate="c1", phase="repair", attempt=2),
        PhaseEntered(candidate="c1/review-3/tests", phase="review", attempt=3),
        PhaseEntered(candidate="c1/plan", phase="plan", attempt=1),
        PhaseEntered(candidate="c2", phase="edit", attempt=1),
    )
    assert (session_status(log).phase, session_status(log).attempt) == ("edit", 2)


def test_tests_of_all_notes_that_exclude_them_add_up() -> None:
    log = make_records(
        NoteMade(candidate="c1", phase="diagnose", note=Diagnosis(summary="s", unrelated_tests=("t.py::b",))),
        NoteMade(candidate="c2", phase="edit", note=Done(summary="s", unrelated_tests=("t.py::x",))),
        NoteMade(
            candidate="c1", phase="repair", note=Done(summary="s", unrelated_tests=("t.py::a", "t.py::b"))
        ),
    )
    assert unrelated_tests(log, "c1") == ("t.py::b", "t.py::a")


def test_shares_are_by_kind_with_the_largest_first() -> None:
    log = EventLog()
    log.append(CandidateForked(candidate="c1"))
    log.append(MessageFinished(candidate="c1", message=UserMessage(text="i" * 60)))
    call = ToolCall(id="1", name="read", arguments="{" + "a" * 9)
    log.append(MessageFinished(candidate="c1", message=AssistantMessage(text="t" * 30, calls=(call,))))
    usage = Usage(input_tokens=1234, cached_tokens=1000)
    log.append(BudgetSpent(candidate="c1", usage=usage, total=UsageTotals()))
    message = ToolMessage(call_id="1", name="read", text="r" * 100)
    log.append(ToolFinished(candidate="c1", message=message, seconds=0.0))
    assert describe_context(log.records) == [
        "  50%        100 characters  results of read",
        "  30%         60 characters  opening message",
        "  20%         40 characters  replies and calls of the model",
        "The newest request had 1,234 tokens with the system prompt and the tools; 1,000 came from the "
        "provider's cache.",
    ]
    log.append(ContextCompacted(candidate="c1", results=(5,)))
    assert describe_context(log.records)[-1] == "Older parts were shortened once to make room."


def test_session_without_a_message_says_so() -> None:
    assert describe_context([]) == ["No message has been sent yet."]


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
