"""Folds over the event log: the conversation, the named tests, and the contents of a status line."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from coder.core import events
from coder.core.events import Task
from coder.core.notes import (
    Diagnosis,
    Done,
    Findings,
    GiveUp,
    Note,
    Plan,
    Reproduction,
    Sites,
)
from coder.core.values import (
    REMARK_OPENING,
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    UsageTotals,
    UserMessage,
    Value,
)
from coder.core.verdict import Verdict, VerdictKind

LONG_RESULT_CHARACTERS, BEGINNING_CHARACTERS = 300, 120
FAILURE_REVIEWER = "failure"
"""The reviewer of failed changes: it advises, and has no vote on delivery."""


def candidate_records(records: Sequence[events.Record], candidate: str) -> list[events.Record]:
    """Return the records that concern a candidate: those of its ancestors up to each fork, then its own."""
    forks = events.events_of(records, events.CandidateForked)
    fork = next((fork for fork in forks if fork.candidate == candidate), None)
    own = [record for record in records if getattr(record.event, "candidate", None) == candidate]
    if fork is None or not fork.parent:
        return own
    return [
        record for record in candidate_records(records, fork.parent) if record.number <= fork.position
    ] + own


def candidate_messages(records: Sequence[events.Record], candidate: str) -> tuple[Message, ...]:
    """Return all messages to and from the model on behalf of a candidate, in order.

    Messages of the user or the harness sent while calls are open are moved behind the results: providers
    accept no other order. What was compacted is in short.
    """
    own_records = candidate_records(records, candidate)
    compactions = events.events_of(own_records, events.ContextCompacted)
    summary = next((event for event in reversed(compactions) if event.summarized), None)
    if summary is None:
        return _fold_messages(own_records, compactions)
    pinned = [record for record in own_records if record.number in summary.pinned]
    rest = [record for record in own_records if record.number > summary.summarized]
    return (
        *_fold_messages(pinned, compactions),
        UserMessage(text=summary.note),
        *_fold_messages(rest, compactions),
    )


def _fold_messages(
    records: Sequence[events.Record], compactions: Sequence[events.ContextCompacted]
) -> tuple[Message, ...]:
    before = max((event.before for event in compactions), default=0)
    shortened = {number for event in compactions for number in event.results}
    messages: list[Message] = []
    deferred: list[Message] = []
    for record in records:
        is_short = record.number <= before or record.number in shortened
        match record.event:
            case events.ConversationContinued(messages=earlier):
                messages += map(_shorten_result, earlier) if is_short else earlier
            case events.MessageFinished(message=UserMessage() as message):
                deferred.append(message)
            case events.MessageFinished(message=message):
                messages.append(message)
            case events.ToolFinished(message=message):
                messages.append(_shorten_result(message) if is_short else message)
            case _:
                continue
        if not unanswered_calls(messages):
            messages += deferred
            deferred.clear()
    return tuple(messages)


def newest_reply(records: Sequence[events.Record], candidate: str) -> AssistantMessage:
    """Return the model's newest reply on behalf of a candidate; an empty one before the first."""
    replies = (
        message
        for message in reversed(candidate_messages(records, candidate))
        if isinstance(message, AssistantMessage)
    )
    return next(replies, AssistantMessage())


def unanswered_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls of the newest reply that have no result yet, in order."""
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


def candidate_notes(records: Sequence[events.Record], candidate: str) -> tuple[Note, ...]:
    return tuple(
        made.note for made in events.events_of(candidate_records(records, candidate), events.NoteMade)
    )


def has_given_up(records: Sequence[events.Record], candidate: str) -> bool:
    """Tell whether the candidate's newest note gives up."""
    all_notes = candidate_notes(records, candidate)
    return bool(all_notes) and isinstance(all_notes[-1], GiveUp)


def named_tests(records: Sequence[events.Record], candidate: str) -> tuple[str, ...]:
    """Return the tests that notes name for the issue, in order.

    The newest reproduction replaces all before it.
    """
    tests: dict[str, None] = {}
    for note in candidate_notes(records, candidate):
        if isinstance(note, Reproduction):
            tests = dict.fromkeys(note.tests)
        elif isinstance(note, Sites):
            tests |= dict.fromkeys(note.tests)
    return tuple(tests)


def unrelated_tests(records: Sequence[events.Record], candidate: str) -> tuple[str, ...]:
    """Return the tests that the candidate's notes say are not about the issue, in order."""
    return tuple(
        dict.fromkeys(
            test
            for note in candidate_notes(records, candidate)
            if isinstance(note, Reproduction | Done | Diagnosis)
            for test in note.unrelated_tests
        )
    )


def candidate_verdicts(records: Sequence[events.Record], candidate: str) -> tuple[Verdict, ...]:
    return tuple(
        event.verdict for event in events.events_of(candidate_records(records, candidate), events.Verified)
    )


def newest_verdict(records: Sequence[events.Record], candidate: str) -> Verdict | None:
    return next(reversed(candidate_verdicts(records, candidate)), None)


def reviewer_findings(records: Sequence[events.Record], candidate: str) -> dict[str, Findings]:
    """Return each reviewer's latest findings on the candidate's change, by reviewer.

    Reviewers are candidates named such as `c1/review-1/correctness`.
    """
    findings = {
        made.candidate.rpartition("/")[2]: made.note
        for made in events.events_of(records, events.NoteMade)
        if isinstance(made.note, Findings) and made.candidate.startswith(f"{candidate}/")
    }
    findings.pop(FAILURE_REVIEWER, None)
    return findings


def active_candidates(records: Sequence[events.Record]) -> tuple[str, ...]:
    """Return the candidates that an executor works on, oldest first."""
    dropped = {event.candidate for event in events.events_of(records, events.CandidateDropped)}
    return tuple(
        fork.candidate
        for fork in events.events_of(records, events.CandidateForked)
        if fork.role == "executor" and fork.candidate not in dropped
    )


def component_plan(records: Sequence[events.Record]) -> Plan | None:
    """Return the newest plan of components; None if nothing is built."""
    notes = (made.note for made in reversed(events.events_of(records, events.NoteMade)))
    return next((note for note in notes if isinstance(note, Plan) and note.components), None)


def interrupted_task(records: Sequence[events.Record]) -> Task | None:
    """Return the task of a session that was stopped, or killed, before it came to a result; else None."""
    task: Task | None = None
    for record in records:
        match record.event:
            case events.SessionStarted(task=started):
                task = started
            case events.SessionFinished(kind=kind, exit_code=code) if kind is not None or code == 0:
                return None
    return task


def next_mode(records: Sequence[events.Record]) -> str:
    """Return the mode in which a request goes on from a session.

    It is that of its request if it was stopped, gave up or had no model, without which only bugs are
    repaired; `fix` without a session.
    """
    task = interrupted_task(records)
    finished = events.newest_event(records, events.SessionFinished)
    started = events.newest_event(records, events.SessionStarted)
    gave_up = finished is not None and finished.kind in (VerdictKind.GAVE_UP, VerdictKind.LIMIT)
    if started is not None and task is None:
        had_no_model = started.model == events.NOBODY and not started.task.given
        task = started.task if gave_up or had_no_model else None
    if task is None:
        return "change" if records else "fix"
    return "plan" if task.plan_only else task.mode


def delivered_diff(records: Sequence[events.Record]) -> str:
    """Return the change that a session delivered; empty if there is none."""
    finished = events.newest_event(records, events.SessionFinished)
    return finished.delivery.diff if finished and finished.delivery else ""


class Status(Value):
    session: str = ""
    model: str = ""
    judges: bool = False
    """Whether the session judges an existing change."""
    phase: str = ""
    attempt: int = 0
    """The highest of any candidate; planners and reviewers make none."""
    spent: UsageTotals = UsageTotals()
    paths: tuple[str, ...] = ()
    verdict: str = ""
    """The newest verdict, in a word or two."""
    started: datetime | None = None
    newest: datetime | None = None
    finished: events.SessionFinished | None = None

    @property
    def seconds(self) -> float:
        """Seconds from the first to the newest event."""
        return (self.newest - self.started).total_seconds() if self.started and self.newest else 0.0


def remark_text(event: events.Event) -> str:
    """Return the remark of the user that a message passes on to a model; empty for all other events."""
    if not isinstance(event, events.MessageFinished) or not isinstance(event.message, UserMessage):
        return ""
    text = event.message.text
    return text.removeprefix(REMARK_OPENING) if text.startswith(REMARK_OPENING) else ""


def advance_status(status: Status, record: events.Record) -> Status:
    return status.model_copy(
        update={
            "newest": record.at,
            "started": status.started or record.at,
            **_status_update(status, record.event),
        }
    )


def session_status(records: Iterable[events.Record]) -> Status:
    result = Status()
    for record in records:
        result = advance_status(result, record)
    return result


def outcome_label(finished: events.SessionFinished) -> str:
    """Return how a session ended, in a word or two."""
    if finished.kind is None:
        return "stopped" if finished.exit_code else "done"
    return finished.kind.value


def _status_update(status: Status, event: events.Event) -> dict[str, object]:
    match event:
        case events.SessionStarted(session=session, model=model, task=task):
            return {"session": session, "model": model, "judges": task.given}
        case events.PhaseEntered(candidate=name, phase=phase, attempt=attempt):
            return {
                "phase": phase,
                "attempt": status.attempt if "/" in name else max(status.attempt, attempt),
            }
        case events.BudgetSpent(total=total):
            return {"spent": total}
        case events.FilesChanged(paths=paths):
            return {"paths": paths}
        case events.Verified(attempt=attempt, verdict=verdict):
            return {"verdict": verdict.label, "attempt": max(status.attempt, attempt)}
        case events.SessionFinished():
            return {"finished": event, "verdict": outcome_label(event) if event.kind else ""}
    return {}


def _shorten_result(message: Message) -> Message:
    """Return a long tool result as one line; other messages as they are."""
    if not isinstance(message, ToolMessage) or len(message.text) <= LONG_RESULT_CHARACTERS:
        return message
    beginning = " ".join(message.text.split())[:BEGINNING_CHARACTERS]
    line = (
        f"[{len(message.text):,} characters dropped to make room; call {message.name} again if you need "
        f"them. They began: {beginning}]"
    )
    return message.model_copy(update={"text": line})


def measure_context(messages: Sequence[Message]) -> dict[str, int]:
    """Return the characters of each kind of message, the largest first."""
    sizes = Counter[str]()
    for number, message in enumerate(messages):
        match message:
            case ToolMessage(name=name, text=text):
                sizes[f"results of {name}"] += len(text)
            case AssistantMessage(text=text, calls=calls, opaque=opaque):
                sizes["replies and calls of the model"] += len(text) + len(opaque)
                sizes["replies and calls of the model"] += sum(len(call.arguments) for call in calls)
            case _:
                sizes["opening message" if number == 0 else "further messages"] += len(message.text)
    return dict(sizes.most_common())


def newest_request_tokens(records: Sequence[events.Record]) -> int:
    """Return the tokens of the newest request, system prompt and tools included; 0 if there was none."""
    spent = events.newest_event(records, events.BudgetSpent)
    return spent.usage.input_tokens if spent else 0


def describe_context(records: Sequence[events.Record]) -> list[str]:
    """Return what fills the context window of a session's model, one kind of message a line."""
    candidate = next(reversed(active_candidates(records)), "")
    sizes = measure_context(candidate_messages(records, candidate))
    total = sum(sizes.values())
    if not total:
        return ["No message has been sent yet."]
    lines = [f"{size / total:>5.0%}  {size:>9,} characters  {name}" for name, size in sizes.items()]
    requests = [
        event.usage for event in events.events_of(records, events.BudgetSpent) if event.candidate == candidate
    ]
    if requests:
        newest = requests[-1]
        lines.append(
            f"The newest request had {newest.input_tokens:,} tokens with the system prompt and the tools; "
            f"{newest.cached_tokens:,} came from the provider's cache."
        )
    if compactions := events.events_of(records, events.ContextCompacted):
        times = "once" if len(compactions) == 1 else f"{len(compactions)} times"
        lines.append(f"Older parts were shortened {times} to make room.")
    return lines
