"""Presentation of records: each one becomes calls on the transcript and the status line."""

import json
import re
from collections.abc import Iterable, Sequence

from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Markdown, Static

from coder.core import events
from coder.core.state import Status, advance_status
from coder.core.text import parse_json, sanitize_text
from coder.core.values import AssistantMessage, ToolCall, ToolMessage, UserMessage
from coder.core.verdict import Verdict
from coder.ui.lines import (
    Line,
    change_heading,
    current_activity,
    describe_event,
    report_body,
    status_parts,
    summarize_arguments,
    summary_lines,
)
from coder.ui.tui.diff import render_diff, render_diff_lines
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.transcript import Fold, StatusBar, Transcript


class ReplyView(Widget):
    """Grows with the streamed text, and ends as the message in the log."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._waiting = False

    def render(self) -> Content:
        return highlight_markdown(self._text.strip())

    def stream(self, text: str) -> None:
        """Add a piece; all pieces before the next frame are drawn together."""
        self._text += text
        if not self._waiting:
            self._waiting = True
            self.set_timer(FRAME_SECONDS, self._draw)

    def finish(self, text: str) -> None:
        """Show the whole message, which differs from the streamed text if the model was asked again."""
        if text.strip() != self._text.strip():
            self._text = text
            self._draw()

    def _draw(self) -> None:
        self._waiting = False
        self.refresh(layout=True)


class Narrator:
    """Shows the records of one session, and keeps replies and calls that are still incomplete."""

    def __init__(
        self,
        transcript: Transcript,
        status_bar: StatusBar,
        prompt: Prompt,
        *,
        is_recorded: bool = False,
    ) -> None:
        """Take `is_recorded`: the session is an earlier one, which commands have to name."""
        self._transcript = transcript
        self._status_bar = status_bar
        self._prompt = prompt
        self._is_recorded = is_recorded
        self._status = Status()
        self._activity = ""
        self._replies: dict[str, ReplyView] = {}
        """Unfinished replies by candidate."""
        self._newest_reply: ReplyView | None = None
        self._calls: dict[tuple[str, str], CallFold] = {}
        """By candidate and id: servers may count the calls of each conversation anew."""
        self._questions: dict[str, str] = {}
        """Texts of questions that a dialog shows until they are answered, by id."""
        self._shown_verdict = ""
        self._heading: events.PhaseEntered | None = None
        """Phase without a line so far."""
        self._shown_heading: events.PhaseEntered | None = None

    def show_record(self, record: events.Record) -> None:
        self._status = advance_status(self._status, record)
        self._activity = current_activity(record.event) or self._activity
        self._show_status()
        match record.event:
            case events.TextStreamed(candidate=candidate, text=text):
                self._reply(candidate).stream(text)
            case events.MessageFinished(candidate=candidate, message=AssistantMessage(text=text)):
                self._finish_reply(candidate, text)
            case events.DeliverNowOffered(offered=offered):
                self._prompt.offer_delivery(offered=offered)
            case events.ToolStarted() | events.ToolFinished():
                self._show_call(record.event)
            case events.SessionStarted(task=task):
                self._transcript.add_issue(task.issue)
                self._add(*_event_widgets(record.event))
            case events.QuestionAsked(question=question, text=text):
                self._questions[question] = text
            case events.QuestionAnswered():
                self._show_answer(record.event)
            case events.SessionFinished():
                self._finish(record.event)
            case _:
                self._show_course(record.event)

    def _show_course(self, event: events.Event) -> None:
        if isinstance(event, events.PhaseEntered):
            self._heading, self._shown_verdict = event, ""
            return
        if isinstance(event, events.Verified):
            self._shown_verdict = _verdict_text(event.verdict)
        self._add(*_event_widgets(event))

    def _add(self, *widgets: Widget) -> None:
        """Add widgets, after the heading of their phase if they are the first of it."""
        heading, self._heading = (self._heading, None) if widgets else (None, self._heading)
        if heading is not None and heading != self._shown_heading:
            self._shown_heading = heading
            self._transcript.add(*_event_widgets(heading))
        self._transcript.add(*widgets)

    def _show_call(self, event: events.ToolStarted | events.ToolFinished) -> None:
        if isinstance(event, events.ToolStarted):
            if self._heading is not None:
                self._heading = change_heading(self._heading, event.call.name)
            self._calls[event.candidate, event.call.id] = CallFold(event.call)
            self._add(self._calls[event.candidate, event.call.id])
        elif (fold := self._calls.pop((event.candidate, event.message.call_id), None)) is not None:
            fold.finish(event.message, event.seconds, refused=event.refused)

    def _show_answer(self, event: events.QuestionAnswered) -> None:
        if text := self._questions.pop(event.question, ""):
            self._add(_line(text, "question"))
        self._add(*_event_widgets(event))

    def _show_status(self) -> None:
        status = " · ".join(status_parts(self._status))
        self._status_bar.show(status, seconds=self._status.seconds, activity=self._activity)

    def skip(self, records: Sequence[events.Record]) -> None:
        """Take note of records that are too many to be shown, and say how to see them."""
        newest_of_type = {record.event.type: record for record in records}
        for record in sorted(newest_of_type.values(), key=lambda record: record.number):
            self._status = advance_status(self._status, record)
        text = f"{len(records):,} earlier events: coder log show {self._status.session}"
        self._add(_line(text, "about"))

    def _reply(self, candidate: str) -> ReplyView:
        if candidate not in self._replies:
            self._replies[candidate] = ReplyView()
            self._add(self._replies[candidate])
        return self._replies[candidate]

    def _finish_reply(self, candidate: str, text: str) -> None:
        if text.strip():
            self._newest_reply = self._reply(candidate)
            self._newest_reply.finish(text)
        elif candidate in self._replies:
            self._replies[candidate].remove()
        self._replies.pop(candidate, None)

    def _finish(self, event: events.SessionFinished) -> None:
        """Mark interrupted calls, then show the summary, without the verdict if it stands right above."""
        self._heading = None
        for call in self._calls.values():
            call.set_remark("stopped")
        if (
            self._status.phase == "answer"
            and event.exit_code == 0
            and event.report
            and self._newest_reply is not None
        ):
            self._newest_reply.remove()  # the report is the same text, rendered
        session = self._status.session
        command = f"/{{}} {session}" if self._is_recorded else "/{}"
        shown = summary_lines(event, session=session, command=command, is_judged=self._status.judges)
        lines = [line.plain for line in shown]
        if lines[0] == self._shown_verdict:
            lines[0] = ""
        self._add(*_summary_widgets(event, lines))


def _event_widgets(event: events.Event) -> Iterable[Widget]:
    match event:
        case events.SessionStarted(session=session, model=model, dirty=dirty, task=task):
            for attachment in task.attachments:
                yield _line(f"attached: {attachment.name}", "about")
            yield _line(
                f"session {session}, {model}{', with your uncommitted work' if dirty else ''}", "about"
            )
        case events.MessageFinished(message=UserMessage(text=text)):
            lines = text.strip().splitlines() or [""]
            title = Content.assemble(("sent to the model", "bold"), "  ", sanitize_text(lines[0]))
            remark = f"{len(lines)} line{'s' * (len(lines) != 1)}"
            yield Fold(
                title, lambda: [Static(sanitize_text(text), classes="output", markup=False)], remark=remark
            )
        case _:
            described = [*describe_event(event)]
            details = [line for line in described if line.is_detail]
            for line in described:
                if details and line is described[0]:
                    title = Content.styled(sanitize_text(line.words), "italic")
                    yield Fold(title, lambda: map(_line_widget, details), remark="details")
                elif not line.is_detail:
                    yield _line_widget(line)


def _line_widget(line: Line) -> Static:
    kind = f" {line.kind.name.lower()}" if line.kind else ""
    style = "about" if line.style == "detail" else line.style
    text = f"{'  ' * (line.indent - 1)}{line.words}" if style == "note" else line.words
    return _line(text, f"{style}{kind}")


def _verdict_text(verdict: Verdict) -> str:
    return f"{verdict.label}  {verdict.headline}"


def _summary_widgets(event: events.SessionFinished, lines: Sequence[str]) -> Iterable[Widget]:
    """Show the end: the change, the report, and `lines`, of which the first is the outcome or empty."""
    delivery = event.delivery
    if delivery and (diff := delivery.diff):
        yield Fold(Content.assemble(("the change", "bold"), "  as a diff"), lambda: render_diff(diff))
    if report := report_body(event):
        yield Markdown(quote_names(sanitize_text(report)), classes="report", open_links=False)
    first, *rest = lines
    if first:
        yield _line(first, f"ending verdict {event.kind.name.lower() if event.kind else 'stopped'}")
    for line in rest:
        name, _, text = line.partition(" ")
        yield Horizontal(_line(name, "name"), _line(text.strip(), "value"), classes="ending")


def _line(text: str, classes: str) -> Static:
    return Static(sanitize_text(text), markup=False, classes=classes)


FRAME_SECONDS = 0.05
"""Time between updates of streamed text; shorter ones occupy a core and read no better."""


class CallFold(Fold):
    """Name, arguments and outcome of a call; inside, its whole arguments and output."""

    def __init__(self, call: ToolCall) -> None:
        title = Content.assemble(
            (call.name, "bold"), "  ", sanitize_text(summarize_arguments(call.arguments))
        )
        super().__init__(title, self._content_widgets, remark="running")
        self._call = call
        self._answer: ToolMessage | None = None

    def finish(self, answer: ToolMessage, seconds: float, *, refused: bool = False) -> None:
        """Show the outcome; the output is shown as the model saw it."""
        self._answer = answer
        self.set_class(not answer.ok, "failed")
        failure = "refused" if refused else f"failed {seconds:.1f} s"
        self.set_remark(f"{seconds:.1f} s" if answer.ok else failure)

    def _content_widgets(self) -> Iterable[Widget]:
        yield from _argument_widgets(self._call.arguments)
        if self._answer is not None:
            yield Static(sanitize_text(self._answer.text), classes="output", markup=False)


def _argument_widgets(arguments: str) -> Iterable[Widget]:
    try:
        values = parse_json(arguments)
    except json.JSONDecodeError:
        values = None
    if not isinstance(values, dict):
        yield Static(sanitize_text(arguments), classes="arguments", markup=False)
        return
    for name, value in values.items():
        if name == "diff" and isinstance(value, str):
            yield from render_diff_lines(value, path="")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield Static(sanitize_text(f"{name}: {text}"), classes="arguments", markup=False)


_MARKS = [
    (re.compile(r"^#{1,6} .*$", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE), "bold $text-primary"),
    (re.compile(r"\*\*[^*\n]+\*\*"), "bold"),
    (re.compile(r"`[^`\n]+`"), "$text-warning"),
    (re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL), "$text-warning"),
]
_CODE_OR_NAME = re.compile(
    r"(?P<code>^```.*?(?:^```|\Z)|`[^`\n]+`)|(?P<name>[\w./-]*(?<!\w)__\w+__(?:[\w./:-]*\w)?)",
    re.MULTILINE | re.DOTALL,
)


def quote_names(text: str) -> str:
    """Return Markdown with names such as `a/__init__.py:3` as code, which Markdown takes for bold text."""
    return _CODE_OR_NAME.sub(lambda match: match["code"] or f"`{match['name']}`", text)


def highlight_markdown(text: str) -> Content:
    """Highlight headings, list marks, strong words and code, in unfinished text as well."""
    content = Content(sanitize_text(text))
    for mark, style in _MARKS:
        content = content.highlight_regex(mark, style=style)
    return content
