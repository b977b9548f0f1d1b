"""Facts of a conversation that its log holds, for the note that replaces its older messages."""

from collections.abc import Sequence

from coder.core.events import (
    ConversationContinued,
    FilesChanged,
    MessageFinished,
    NoteMade,
    PlanAnswered,
    Record,
    ToolStarted,
    Verified,
)
from coder.core.messages import REMARK_OPENING, UserMessage
from coder.core.notes import Plan
from coder.core.state import candidate_records
from coder.core.values.base import Value
from coder.core.values.plan import format_plan
from coder.core.values.text import shorten_line

MAX_CALLS, MAX_NOTES, MAX_REQUESTS = 40, 8, 10
LINE_CHARACTERS, TEXT_CHARACTERS = 160, 600


class ConversationFacts(Value):
    """Facts of messages that a model no longer sees."""

    requests: tuple[str, ...] = ()
    """The beginnings of the user's earlier messages, oldest first."""
    remarks: tuple[str, ...] = ()
    """Remarks of the user on the present request, in full."""
    plan: str = ""
    findings: tuple[str, ...] = ()
    """The newest notes of phases, shortened."""
    changed: tuple[str, ...] = ()
    """Paths that the worktree's change touches."""
    verdicts: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """The newest calls, each in a line."""


def collect_facts(records: Sequence[Record], candidate: str) -> ConversationFacts:
    """Return the facts of a candidate's conversation."""
    events = [record.event for record in candidate_records(records, candidate)]
    messages = [
        event.message.text
        for event in events
        if isinstance(event, MessageFinished) and isinstance(event.message, UserMessage)
    ]
    changes = [event.paths for event in events if isinstance(event, FilesChanged)]
    calls = dict.fromkeys(
        shorten_line(f"{event.call.name} {event.call.arguments}", LINE_CHARACTERS)
        for event in events
        if isinstance(event, ToolStarted)
    )
    return ConversationFacts(
        requests=tuple(
            shorten_line(message.text, TEXT_CHARACTERS)
            for event in events
            if isinstance(event, ConversationContinued)
            for message in event.messages
            if isinstance(message, UserMessage)
        )[-MAX_REQUESTS:],
        remarks=tuple(
            text.removeprefix(REMARK_OPENING) for text in messages if text.startswith(REMARK_OPENING)
        ),
        plan=_newest_plan(records),
        findings=tuple(
            shorten_line(f"{event.phase}: {event.note.summary}", TEXT_CHARACTERS)
            for event in events
            if isinstance(event, NoteMade)
        )[-MAX_NOTES:],
        changed=changes[-1] if changes else (),
        verdicts=tuple(
            shorten_line(f"{event.verdict.label}: {event.verdict.reason}", TEXT_CHARACTERS)
            for event in events
            if isinstance(event, Verified)
        )[-MAX_NOTES:],
        calls=tuple(calls)[-MAX_CALLS:],
    )


def _newest_plan(records: Sequence[Record]) -> str:
    for record in reversed(records):
        match record.event:
            case PlanAnswered(plan=Plan() as plan) | NoteMade(note=Plan() as plan):
                return format_plan(plan)
            case _:
                continue
    return ""
