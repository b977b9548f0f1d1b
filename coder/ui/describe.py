"""Events in words, the same ones for every front end."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from coder.core import events
from coder.core.messages import UserMessage
from coder.core.notes import Evaluation, ResearchPlan, ResearchReport, ResearchResult, describe_note
from coder.core.text import parse_json, shorten_line
from coder.core.verdict import Verdict, VerdictKind
from coder.core.verdict_summary import format_counts

LINE_CHARACTERS = 110
SUMMARY_CHARACTERS = 230
"""Of a note: three lines of 80 columns."""
MOST_RED_TESTS = 5
Style = Literal["phase", "about", "note", "place", "red", "detail", "warning", "error", "answer", "verdict"]


@dataclass(frozen=True, kw_only=True)
class Line:
    text: str
    style: Style
    lead: str = ""
    """Emphasized words before the text."""
    indent: int = 0
    """Levels below the heading of the phase."""
    kind: VerdictKind | None = None
    is_detail: bool = False
    """True for what a reader of the whole session needs rarely: shown on request."""

    @property
    def words(self) -> str:
        """The whole line without its style."""
        return f"{self.lead}{self.text}"


def describe_event(event: events.Event) -> Iterator[Line]:
    """Yield the lines that an event is told in; none for one that shows only in what follows from it."""
    match event:
        case events.BaselineMeasured(counts=counts, denied=denied, seconds=seconds, problem=problem):
            summary = problem or f"{format_counts(counts, denied)} in {seconds:.1f} s"
            text = f"{summary}   {event.command}"
            yield Line(lead="tests on the untouched code: ", text=text, style="about")
        case events.PhaseEntered(phase=phase, attempt=attempt):
            yield Line(text=phase if attempt == 1 else f"{phase} (attempt {attempt})", style="phase")
        case events.NoteMade():
            yield from _describe_note(event)
        case events.Verified(verdict=verdict):
            yield from _describe_verdict(verdict)
        case events.ContextCompacted():
            text = "The conversation fills the model's context: older parts are sent in short from now on."
            yield Line(text=text, style="warning", indent=1)
        case events.Warned(text=text):
            yield Line(text=text, style="warning", indent=1)
        case events.Failed(error=error):
            yield Line(text=error, style="error")
        case events.QuestionAnswered() | events.PlanAnswered() | events.ReviewAnswered():
            for text in _describe_answer(event):
                yield Line(text=text, style="answer", indent=1)
        case _:
            yield from _describe_course(event)


def change_heading(heading: events.PhaseEntered, tool: str) -> events.PhaseEntered:
    """Return the heading of a phase that begins with a call: a patch is no reproduction."""
    if heading.phase == "reproduce" and tool == "apply_patch":
        return heading.model_copy(update={"phase": "edit"})
    return heading


def _describe_course(event: events.Event) -> Iterator[Line]:
    """Describe the course that a session takes: its strategy, its candidates and their tests."""
    match event:
        case events.TargetsGreen(targets=targets, seconds=seconds):
            text = f"{len(targets)} {'test' if len(targets) == 1 else 'tests'} red to green ({seconds:.0f} s)"
            yield Line(text=text, style="note", indent=1)
        case events.ConversationContinued(session=session):
            yield Line(text=f"continues session {session}", style="about")
        case events.StrategyChosen(strategy=strategy, reason=reason):
            yield Line(lead="strategy: ", text=f"{strategy}, {reason}", style="about")
        case events.CandidateForked(role="researcher", candidate=candidate, approach=approach):
            text = f"{candidate.partition('/')[2]} looks into: {shorten(approach)}"
            yield Line(text=text, style="note", indent=1)
        case events.CandidateForked(candidate=candidate, parent=parent, approach=approach) if parent:
            yield Line(text=f"{candidate} grows out of {parent}: {approach}", style="about", indent=1)
        case events.CandidateDropped(candidate=candidate, reason=reason):
            text = f"{candidate} goes no further: {shorten(reason)}"
            yield Line(text=text, style="about", indent=1)


def _describe_note(event: events.NoteMade) -> Iterator[Line]:
    note = event.note
    if isinstance(note, ResearchPlan | ResearchResult | Evaluation | ResearchReport):
        name = event.candidate.partition("/")[2]
        for text in describe_note(note):
            yield Line(text=f"{name}: {shorten(text)}", style="note", indent=1)
        return
    if event.implied or note.kind == "give_up":
        return
    yield from _describe_summary(note.summary)
    for row in getattr(note, "rows", ()):
        yield Line(text=row, style="note", indent=2)
    for number, step in enumerate(getattr(note, "steps", ()), start=1):
        yield Line(text=f"{number}. {shorten(step.intent)}", style="note", indent=2)
    for number, component in enumerate(getattr(note, "components", ()), start=1):
        text = f"{number}. {component.name} ({component.path}): {shorten(component.purpose)}"
        yield Line(text=text, style="note", indent=2)
    for place in getattr(note, "places", ())[:5]:
        yield Line(text=str(place), style="place", indent=2, is_detail=True)


def _describe_summary(summary: str) -> Iterator[Line]:
    """Yield the first paragraph of a summary, cut to a few lines, then the whole where that was not all."""
    paragraphs = [text for text in summary.splitlines() if text.strip()]
    for text in paragraphs[:1]:
        yield Line(text=shorten_line(text, SUMMARY_CHARACTERS), style="note", indent=1)
        if len(text) > SUMMARY_CHARACTERS:
            yield Line(text=text, style="detail", indent=2, is_detail=True)
    for text in paragraphs[1:]:
        yield Line(text=text, style="detail", indent=2, is_detail=True)


def _describe_verdict(verdict: Verdict) -> Iterator[Line]:
    more = "  Examining ..." if verdict.is_examinable else ""
    text = f"  {verdict.headline}{more}"
    yield Line(lead=verdict.label, text=text, style="verdict", indent=1, kind=verdict.kind)
    for result in verdict.failures[:MOST_RED_TESTS]:
        yield Line(text=result.id, style="red", indent=2)
        for text in result.output_tail:
            yield Line(text=text, style="detail", indent=3)
    if len(verdict.failures) > MOST_RED_TESTS:
        yield Line(text=f"and {len(verdict.failures) - MOST_RED_TESTS} more", style="red", indent=2)
    if more:
        return  # the verdict at the end of the examination says the rest
    for replaced in verdict.replaced_assertions:
        yield Line(text=replaced.line, style="warning", indent=2)
    for note in verdict.notes:
        yield Line(text=f"noted: {note}", style="detail", indent=2)


def _describe_answer(
    event: events.QuestionAnswered | events.PlanAnswered | events.ReviewAnswered,
) -> list[str]:
    match event:
        case events.QuestionAnswered(option=option, by="person", instruction=instruction):
            return [f"{option}: {instruction}" if instruction else option]
        case events.QuestionAnswered(option=option):
            return [f"not interactive: {option}"]
        case events.PlanAnswered(by="default") | events.ReviewAnswered(by="default"):
            return ["not interactive: accepted as it is"]
        case events.PlanAnswered(plan=plan):
            return ["the plan is accepted" if plan else "the plan is refused"]
        case events.ReviewAnswered(refused=True):
            return ["reviewed: nothing is to be delivered"]
        case events.ReviewAnswered(comments=comments) if comments:
            return [f"comment: {comment.text}" for comment in comments]
        case events.ReviewAnswered(accepted=accepted, edits=edits):
            edited = len({edit.hunk for edit in edits} & {*accepted})
            remark = f", {edited} of them edited" if edited else ""
            return [f"reviewed: {len(accepted)} hunk{'s' * (len(accepted) != 1)} accepted{remark}"]


def current_activity(event: events.Event) -> str:
    """Return the current activity that an event starts; empty if it starts none."""
    match event:
        case events.ToolStarted(call=call):
            return call.name
        case events.ToolStreamed(text=text):
            return text
        case events.TextStreamed() | events.ReasoningStreamed():
            return "the model writes"
        case events.PhaseEntered(phase=phase):
            return "tests run" if phase == "verify" else "thinking"
        case events.ToolFinished() | events.Verified() | events.MessageFinished(message=UserMessage()):
            return "thinking"
        case events.QuestionAsked() | events.PlanAsked() | events.ReviewAsked():
            return "waiting for your answer"
        case events.QuestionAnswered() | events.PlanAnswered() | events.ReviewAnswered():
            return "working"
    return ""


def summarize_arguments(arguments: str) -> str:
    """Return a call's arguments in one short line."""
    try:
        values: Any = parse_json(arguments)
    except json.JSONDecodeError:
        return shorten(arguments)
    if not isinstance(values, dict):
        return shorten(arguments)
    if isinstance(diff := values.get("diff"), str):
        paths = [line[6:] for line in diff.splitlines() if line.startswith("+++ b/")]
        return shorten(", ".join(paths) or "a diff")
    return shorten(
        " ".join(
            str(value) if index == 0 else f"{name}={value}"
            for index, (name, value) in enumerate(values.items())
            if value
        )
    )


def shorten(text: str) -> str:
    """Return a text in one line, cut to the width of a line."""
    return shorten_line(text, LINE_CHARACTERS)
