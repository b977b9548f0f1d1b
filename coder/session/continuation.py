"""Continuation of an earlier session: its conversation, and the change that it delivered."""

from collections.abc import Sequence

from coder.core.events import (
    ConversationContinued,
    FilesChanged,
    MessageFinished,
    PhaseEntered,
    Record,
    SessionFinished,
    SessionStarted,
    Verified,
)
from coder.core.messages import Message, ToolMessage
from coder.core.state import active_candidates, candidate_messages, unanswered_calls
from coder.core.values.base import Value

INTERRUPTED = "The session was stopped before this was done."


class Continuation(Value):
    """Legacy of an earlier session to the one that continues it."""

    session: str
    messages: tuple[Message, ...] = ()
    """Its conversation; each call has a result."""
    commit: str = ""
    """The delivered commit; empty if nothing was delivered, or only a diff."""
    branch: str = ""
    """The branch at that commit."""
    diff: str = ""
    """Unfinished change of a session that was interrupted."""
    is_mixed: bool = False
    """Whether the conversation and the code are of different points: one of them alone was rewound."""


def read_continuation(session: str, records: Sequence[Record]) -> Continuation:
    """Return what can be continued of a session, from its log; it need not have ended.

    A session that ended before its first phase leaves what it continued.
    """
    finished = next((record.event for record in records if isinstance(record.event, SessionFinished)), None)
    candidate = _delivered_candidate(records, finished)
    messages = candidate_messages(records, candidate) or candidate_messages(records, f"{candidate}/plan")
    results = (
        ToolMessage(call_id=call.id, name=call.name, text=INTERRUPTED, ok=False)
        for call in unanswered_calls(messages)
    )
    delivery = finished.delivery if finished else None
    conversation, code = _origins(records) or (session, session)
    return Continuation(
        session=code or (conversation and session),
        messages=(*messages, *results),
        commit=delivery.commit if delivery else "",
        branch=delivery.branch if delivery else "",
        diff=_newest_diff(records, candidate) if finished is None or finished.kind is None else "",
        is_mixed=conversation != code and bool(conversation),
    )


def _origins(records: Sequence[Record]) -> tuple[str, str] | None:
    """Return the sessions whose conversation, and whose code, a session continues that did nothing.

    Each is empty if there is none; the result is None if the session did anything.
    """
    conversation = code = ""
    for record in records:
        match record.event:
            case SessionStarted(task=task):
                code = task.continues
            case ConversationContinued(session=session):
                conversation = session
            case PhaseEntered() | MessageFinished() | Verified():
                return None
    return conversation, code


def _newest_diff(records: Sequence[Record], candidate: str) -> str:
    changes = (
        record.event.diff
        for record in reversed(records)
        if isinstance(record.event, FilesChanged) and record.event.candidate == candidate
    )
    return next(changes, "")


def _delivered_candidate(records: Sequence[Record], finished: SessionFinished | None) -> str:
    """Return the candidate whose change was delivered; without one, the oldest that was not dropped."""
    tree = finished.verdict.tree if finished and finished.verdict else ""
    judged = (
        record.event.candidate
        for record in reversed(records)
        if isinstance(record.event, Verified) and tree and record.event.verdict.tree == tree
    )
    return next(judged, next(iter(active_candidates(records)), ""))
