from pathlib import Path

import pytest

from coder.core.events import (
    NOBODY,
    BudgetSpent,
    CandidateForked,
    ContextCompacted,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    SessionFinished,
    SessionStarted,
    ToolFinished,
)
from coder.core.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UsageTotals, UserMessage
from coder.core.notes import Diagnosis, Done
from coder.core.state import (
    candidate_messages,
    next_mode,
    session_status,
    unrelated_tests,
)
from coder.core.task import Task
from coder.core.verdict import VerdictKind
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


def test_fork_shares_earlier_messages() -> None:
    log = make_records(
        CandidateForked(candidate="c1"),
        message_event(HELLO),
        CandidateForked(candidate="c2", parent="c1", position=2),
        message_event(UserMessage(text="only one"), "c1"),
        message_event(UserMessage(text="only two"), "c2"),
    )
    assert [message.text for message in candidate_messages(log, "c2")] == ["hello", "only two"]


def test_compaction_turns_old_long_answers_into_stubs() -> None:
    log = make_records(
        message_event(HELLO),
        message_event(CALLS),
        result_event(FIRST),
        result_event(SECOND),
        ContextCompacted(candidate="c1", before=4),
    )
    stub = candidate_messages(log, "c1")[2]
    assert len(stub.text) < 600
    assert "call read again" in stub.text
    assert candidate_messages(log, "c1")[3] == SECOND


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
