"""Continuation of an earlier session: its conversation, and the change that it delivered."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from coder.core import events
from coder.core.events import Source
from coder.core.notes import Evaluation, Plan, ResearchNote, ResearchPlan, ResearchReport, ResearchResult
from coder.core.state import (
    active_candidates,
    candidate_messages,
    component_plan,
    interrupted_task,
    unanswered_calls,
)
from coder.core.text import parse_json
from coder.core.values import Message, ToolCall, ToolMessage, Value

INTERRUPTED = "The session was stopped before this was done."
PATCH_TOOL = "apply_patch"
UNREPEATED_TOOL = "run_command"
"""Tool whose interrupted call is not carried out again: it may have had effects outside the worktree."""


class Continuation(Value):
    """Legacy of an earlier session to the one that continues it."""

    session: str
    messages: tuple[Message, ...] = ()
    """Its conversation; each call has a result, unless the same request is resumed."""
    commit: str = ""
    """The delivered commit; empty if nothing was delivered, or only a diff."""
    branch: str = ""
    plan: Plan | None = None
    """Plan of the components that an interrupted session was building."""
    diff: str = ""
    """Unfinished change of a session that was interrupted."""
    patches: tuple[str, ...] = ()
    """Diffs that the model has applied since; the log has no state with them."""
    notes: tuple[events.NoteMade, ...] = ()
    """Notes of the phases that were interrupted."""
    is_resumed: bool = False
    """Whether the same request goes on that was interrupted: calls without a result are carried out again."""
    is_mixed: bool = False
    """Whether the conversation and the code are of different points: one of them alone was rewound."""
    question: str = ""
    """Its request."""
    requests: Mapping[str, str] = Field(default_factory=dict)
    """The requests of its conversation by session, the oldest first, without questions."""
    unfinished_requests: tuple[str, ...] = ()
    """Requests of its conversation, the newest first, that were interrupted since the last one that ended."""
    answer: str = ""
    """Its report, which answers a question."""
    sources: tuple[Source, ...] = ()
    """Texts beside the repository that its question was allowed."""
    research: Mapping[str, ResearchNote] = Field(default_factory=dict)

    def is_unfinished_research(self, question: str) -> bool:
        """Tell whether it began to research this question, and wrote no report."""
        has_report = any(isinstance(note, ResearchReport) for note in self.research.values())
        return bool(self.research) and not has_report and self.question == question


def read_continuation(session: str, records: Sequence[events.Record], *, request: str = "") -> Continuation:
    """Return what can be continued of a session, from its log; it need not have ended.

    A session that ended before its first phase leaves what it continued. If it was interrupted and its
    request is the same as `request`, the conversation goes on at the very point that the log has reached.
    """
    finished, started = (
        events.newest_event(records, events.SessionFinished),
        events.newest_event(records, events.SessionStarted),
    )
    candidate = _continued_candidate(records, finished)
    research = _research_notes(records)
    messages = candidate_messages(records, candidate) or (
        () if research else candidate_messages(records, f"{candidate}/plan")
    )
    task = interrupted_task(records)
    is_resumed = task is not None and task.issue == request != ""
    results = (
        ToolMessage(call_id=call.id, name=call.name, text=INTERRUPTED, ok=False)
        for call in unanswered_calls(messages)
        if call.name == UNREPEATED_TOOL or not is_resumed
    )
    delivery, notes = finished.delivery if finished else None, events.events_of(records, events.NoteMade)
    conversation, code = _origins(records) or (session, session)
    is_open = finished is None or finished.kind is None
    return Continuation(
        session=code or (conversation and session),
        messages=(*messages, *results),
        commit=delivery.commit if delivery else "",
        branch=delivery.branch if delivery else "",
        plan=component_plan(records) if is_open else None,
        diff=_newest_diff(records, candidate) if is_open and not (delivery and delivery.commit) else "",
        patches=_unrecorded_patches(records, candidate) if is_open else (),
        notes=tuple(made for made in notes if made.candidate == candidate) if is_resumed else (),
        is_mixed=conversation != code and bool(conversation),
        is_resumed=is_resumed,
        question=started.task.issue if started else "",
        answer=finished.report if finished else "",
        sources=started.task.sources if started else (),
        research=research,
    )


def _research_notes(records: Sequence[events.Record]) -> dict[str, ResearchNote]:
    return {
        made.candidate: made.note
        for made in events.events_of(records, events.NoteMade)
        if isinstance(made.note, ResearchPlan | ResearchResult | Evaluation | ResearchReport)
    }


def _unrecorded_patches(records: Sequence[events.Record], candidate: str) -> tuple[str, ...]:
    """Return the diffs that were applied after the newest recorded state of the candidate."""
    calls: dict[str, ToolCall] = {}
    patches: list[str] = []
    for record in records:
        if getattr(record.event, "candidate", "") != candidate:
            continue
        match record.event:
            case events.FilesChanged():
                patches.clear()
            case events.ToolStarted(call=call):
                calls[call.id] = call
            case events.ToolFinished(message=message) if message.name == PATCH_TOOL and message.ok:
                patches.append(parse_json(calls[message.call_id].arguments, strict=False)["diff"])
    return tuple(patches)


def _origins(records: Sequence[events.Record]) -> tuple[str, str] | None:
    """Return the sessions whose conversation, and whose code, a session continues that did nothing.

    Each is empty if there is none; the result is None if the session did anything.
    """
    conversation = code = ""
    for record in records:
        match record.event:
            case events.SessionStarted(task=task):
                code = task.continues
            case events.ConversationContinued(session=session):
                conversation = session
            case events.PhaseEntered() | events.MessageFinished() | events.Verified():
                return None
    return conversation, code


def _newest_diff(records: Sequence[events.Record], candidate: str) -> str:
    changes = reversed(events.events_of(records, events.FilesChanged))
    return next((change.diff for change in changes if change.candidate == candidate), "")


def _continued_candidate(records: Sequence[events.Record], finished: events.SessionFinished | None) -> str:
    """Return the candidate whose change was delivered; without one, that on which work can go on."""
    tree = finished.verdict.tree if finished and finished.verdict else ""
    verified = reversed(events.events_of(records, events.Verified))
    judged = (event.candidate for event in verified if tree and event.verdict.tree == tree)
    return next(judged, find_resumable_candidate(records))


def find_resumable_candidate(records: Sequence[events.Record]) -> str:
    """Return the live candidate whose change is good, else one that awaits its verdict, else the oldest.

    Without any it is empty.
    """
    good: set[str] = set()
    waiting: set[str] = set()
    for record in records:
        match record.event:
            case events.ToolFinished(candidate=candidate, message=message) if (
                message.name == PATCH_TOOL and message.ok
            ):
                good.discard(candidate)
                waiting.add(candidate)
            case events.Verified(candidate=candidate, verdict=verdict):
                waiting.discard(candidate)
                (good.add if verdict.is_good_enough else good.discard)(candidate)
    live = list(active_candidates(records))
    ranked = (*(name for group in (good, waiting) for name in live if name in group), *live)
    return next(iter(ranked), "")
