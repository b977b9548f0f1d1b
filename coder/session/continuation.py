"""Continuation of an earlier session: its conversation, and the change that it delivered."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from coder.core.events import FilesChanged, NoteMade, Record, SessionFinished, SessionStarted, Verified
from coder.core.messages import Message, ToolMessage
from coder.core.notes import Plan
from coder.core.notes.research import Evaluation, ResearchNote, ResearchPlan, ResearchReport, ResearchResult
from coder.core.state import active_candidates, candidate_messages, component_plan, unanswered_calls
from coder.core.values.base import Value
from coder.core.values.task import Source

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
    plan: Plan | None = None
    """Plan of the components that an interrupted session was building."""
    diff: str = ""
    """Unfinished change of a session that was interrupted."""
    question: str = ""
    """Its request."""
    answer: str = ""
    """Its report, which answers a question."""
    sources: tuple[Source, ...] = ()
    """Texts beside the repository that its question was allowed."""
    research: Mapping[str, ResearchNote] = Field(default_factory=dict)
    """Notes of its research, if it was one, by candidate."""

    def is_unfinished_research(self, question: str) -> bool:
        """Tell whether it began to research this question, and wrote no report."""
        has_report = any(isinstance(note, ResearchReport) for note in self.research.values())
        return bool(self.research) and not has_report and self.question == question


def read_continuation(session: str, records: Sequence[Record]) -> Continuation:
    """Return what can be continued of a session, from its log; it need not have ended."""
    finished = next((record.event for record in records if isinstance(record.event, SessionFinished)), None)
    candidate = _delivered_candidate(records, finished)
    research = _research_notes(records)
    messages = candidate_messages(records, candidate) or (
        () if research else candidate_messages(records, f"{candidate}/plan")
    )
    started = next((record.event for record in records if isinstance(record.event, SessionStarted)), None)
    results = (
        ToolMessage(call_id=call.id, name=call.name, text=INTERRUPTED, ok=False)
        for call in unanswered_calls(messages)
    )
    delivery = finished.delivery if finished else None
    is_unfinished = finished is None or finished.kind is None
    return Continuation(
        session=session,
        messages=(*messages, *results),
        commit=delivery.commit if delivery else "",
        branch=delivery.branch if delivery else "",
        plan=component_plan(records) if is_unfinished else None,
        diff=_newest_diff(records, candidate) if is_unfinished else "",
        question=started.task.issue if started else "",
        answer=finished.report if finished else "",
        sources=started.task.sources if started else (),
        research=research,
    )


def _research_notes(records: Sequence[Record]) -> dict[str, ResearchNote]:
    """Return the newest research note of each candidate."""
    return {
        record.event.candidate: record.event.note
        for record in records
        if isinstance(record.event, NoteMade)
        and isinstance(record.event.note, ResearchPlan | ResearchResult | Evaluation | ResearchReport)
    }


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
