"""Folds over the event log: the conversation, the named tests, and what a status line shows."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from coder.core.events import (
    BudgetSpent,
    CandidateDropped,
    CandidateForked,
    ContextCompacted,
    Event,
    FilesChanged,
    MessageFinished,
    NoteMade,
    PhaseEntered,
    Record,
    SessionFinished,
    SessionStarted,
    ToolFinished,
    Verified,
)
from coder.core.messages import AssistantMessage, Message, Spent, ToolCall, ToolMessage, UserMessage
from coder.core.notes import Findings, GiveUp, Note, Reproduction, Sites
from coder.core.values.base import Value
from coder.core.values.verdict import Verdict

STUB_CHARACTERS = 400
ADVISER = "failure"
"""The reader who looks at failed changes, whose word is advice and no opinion on what may be delivered."""


def lineage(records: Sequence[Record], candidate: str) -> list[Record]:
    """The records that concern a candidate: those of its ancestors up to each fork, then its own."""
    fork = next(
        (
            record.event
            for record in records
            if isinstance(record.event, CandidateForked) and record.event.candidate == candidate
        ),
        None,
    )
    own = [record for record in records if getattr(record.event, "candidate", None) == candidate]
    if fork is None or not fork.parent:
        return own
    return [record for record in lineage(records, fork.parent) if record.number <= fork.position] + own


def conversation(records: Sequence[Record], candidate: str) -> tuple[Message, ...]:
    """All that was said to and by the model on behalf of a candidate, in order.

    What the person or the harness says while calls are open comes after their answers: providers accept no other order.
    """
    mine = lineage(records, candidate)
    compacted = max(
        (record.event.before for record in mine if isinstance(record.event, ContextCompacted)), default=0
    )
    messages: list[Message] = []
    held: list[Message] = []
    for record in mine:
        match record.event:
            case MessageFinished(message=UserMessage() as message):
                held.append(message)
            case MessageFinished(message=message):
                messages.append(message)
            case ToolFinished(message=message):
                messages.append(_stub(message) if record.number <= compacted else message)
            case _:
                continue
        if not unanswered(messages):
            messages += held
            held.clear()
    return tuple(messages)


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Calls of the newest reply that have no answer yet, in order."""
    answered: set[str] = set()
    for message in reversed(messages):
        match message:
            case ToolMessage(call_id=call_id):
                answered.add(call_id)
            case AssistantMessage(calls=calls):
                return tuple(call for call in calls if call.id not in answered)
            case UserMessage():
                break
    return ()


def notes(records: Sequence[Record], candidate: str) -> tuple[Note, ...]:
    """The candidate's notes, oldest first."""
    return tuple(
        record.event.note for record in lineage(records, candidate) if isinstance(record.event, NoteMade)
    )


def gave_up(records: Sequence[Record], candidate: str) -> bool:
    """Is giving up the candidate's newest note?"""
    made = notes(records, candidate)
    return bool(made) and isinstance(made[-1], GiveUp)


def named_tests(records: Sequence[Record], candidate: str) -> tuple[str, ...]:
    """Tests that notes say show the issue, in the order they were named; the newest reproduction stands for all before it."""
    found: dict[str, None] = {}
    for note in notes(records, candidate):
        if isinstance(note, Reproduction):
            found = dict.fromkeys(note.tests)
        elif isinstance(note, Sites):
            found |= dict.fromkeys(note.tests)
    return tuple(found)


def verdicts(records: Sequence[Record], candidate: str) -> tuple[Verdict, ...]:
    """The candidate's verdicts, oldest first."""
    return tuple(
        record.event.verdict for record in lineage(records, candidate) if isinstance(record.event, Verified)
    )


def opinions(records: Sequence[Record], candidate: str) -> dict[str, Findings]:
    """What each reader last said of the candidate's change, by reader; readers are candidates named `c1/review-1/correctness`."""
    found: dict[str, Findings] = {}
    for record in records:
        event = record.event
        if (
            isinstance(event, NoteMade)
            and isinstance(event.note, Findings)
            and event.candidate.startswith(f"{candidate}/")
        ):
            found[event.candidate.rpartition("/")[2]] = event.note
    found.pop(ADVISER, None)
    return found


def working(records: Sequence[Record]) -> tuple[str, ...]:
    """Candidates that an executor works on, oldest first."""
    forked = [
        record.event.candidate
        for record in records
        if isinstance(record.event, CandidateForked) and record.event.role == "executor"
    ]
    dropped = {record.event.candidate for record in records if isinstance(record.event, CandidateDropped)}
    return tuple(name for name in forked if name not in dropped)


class Status(Value):
    """What a status line shows."""

    session: str = ""
    model: str = ""
    phase: str = ""
    attempt: int = 0
    """The furthest of any candidate; planners and readers make none."""
    spent: Spent = Spent()
    paths: tuple[str, ...] = ()
    verdict: str = ""
    """The newest judgement, in a word or two."""
    started: datetime | None = None
    newest: datetime | None = None
    finished: SessionFinished | None = None

    @property
    def seconds(self) -> float:
        """From the first to the newest event."""
        return (self.newest - self.started).total_seconds() if self.started and self.newest else 0.0


def advance(status: Status, record: Record) -> Status:
    """The status after one more record."""
    return status.model_copy(
        update={"newest": record.at, "started": status.started or record.at, **_news(status, record.event)}
    )


def status(records: Iterable[Record]) -> Status:
    """The status after all of them."""
    result = Status()
    for record in records:
        result = advance(result, record)
    return result


def outcome(finished: SessionFinished) -> str:
    """How a session ended, in a word or two: as its verdict says it, where it ended with that."""
    if finished.kind is None:
        return "stopped" if finished.exit_code else "done"
    verdict = finished.verdict
    return verdict.label if verdict and verdict.kind is finished.kind else finished.kind.value


def _news(status: Status, event: Event) -> dict[str, object]:
    match event:
        case SessionStarted(session=session, model=model):
            return {"session": session, "model": model}
        case PhaseEntered(candidate=who, phase=phase, attempt=attempt):
            return {"phase": phase, "attempt": status.attempt if "/" in who else max(status.attempt, attempt)}
        case BudgetSpent(total=total):
            return {"spent": total}
        case FilesChanged(paths=paths):
            return {"paths": paths}
        case Verified(verdict=verdict):
            return {"verdict": verdict.label}
        case SessionFinished():
            return {"finished": event, "verdict": outcome(event) if event.kind else ""}
        case _:
            return {}


def _stub(message: ToolMessage) -> ToolMessage:
    if len(message.text) <= STUB_CHARACTERS:
        return message
    return message.model_copy(
        update={
            "text": f"{message.text[:STUB_CHARACTERS]}\n[the rest was dropped to make room; call {message.name} again if you need it]"
        }
    )
