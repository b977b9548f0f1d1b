"""A session in words, the same ones for every front end, and printed as lines of a terminal or a pipe."""

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from coder.core import events
from coder.core.events import SessionFinished
from coder.core.notes import (
    Evaluation,
    ResearchPlan,
    ResearchReport,
    ResearchResult,
    describe_note,
)
from coder.core.plan import format_plan
from coder.core.state import Status, advance_status, outcome_label
from coder.core.text import join_first, parse_json, sanitize_text, shorten_line
from coder.core.values import (
    AssistantMessage,
    Delivery,
    Hunk,
    HunkComment,
    ToolCall,
    UsageTotals,
    UserMessage,
)
from coder.core.verdict import Verdict, VerdictKind
from coder.core.verdict_summary import Row, evidence_rows, format_counts
from coder.patching.git_hunks import hunk_lines, split_git_diff
from coder.session.log import utc_now

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
        case events.StageChanged(stage=stage, component=component, state="running"):
            if not component:
                yield Line(text=stage, style="phase")
        case events.StageChanged(stage=stage, component=component, state=state, remark=remark):
            text = f"{f'{stage} {component}'.rstrip()}  {state}{f': {shorten(remark)}' if remark else ''}"
            yield Line(text=text, style="note" if state == "done" else "red", indent=1)
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
        case events.ReviewAnswered(accepted=accepted):
            return [f"reviewed: {len(accepted)} hunk{'s' * (len(accepted) != 1)} accepted"]


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


STYLES = {
    VerdictKind.PROVEN: "bold green",
    VerdictKind.FIXED: "bold green",
    VerdictKind.PASSING: "bold yellow",
    VerdictKind.GAVE_UP: "bold red",
    VerdictKind.LIMIT: "bold red",
    VerdictKind.NOT_FIXED: "bold red",
    VerdictKind.BROKEN: "bold red",
    VerdictKind.NOT_TESTED: "bold magenta",
}


def status_parts(status: Status) -> list[str]:
    """Return the phase of a session, its attempt, verdict, tokens and money, as far as there are any."""
    spent, attempt = status.spent, f"attempt {status.attempt}" if status.attempt else ""
    tokens = f"{abbreviate_number(spent.input_tokens + spent.output_tokens)} tokens"
    cost = (tokens, format_money(spent)) if spent.requests else ()
    return [part for part in (status.phase, attempt, status.verdict, *cost) if part]


def format_spending(spent: UsageTotals) -> list[str]:
    """Format requests, tokens and money; empty if nothing was spent."""
    if not spent.requests:
        return []
    tokens = spent.input_tokens + spent.output_tokens
    cached_text = f" ({abbreviate_number(spent.cached_tokens)} cached)" if spent.cached_tokens else ""
    return [
        f"{spent.requests} request{'s' * (spent.requests != 1)}",
        f"{abbreviate_number(tokens)} tokens{cached_text}",
        format_money(spent),
    ]


def format_money(spent: UsageTotals) -> str:
    return "price unknown" if spent.cost_usd is None else f"${spent.cost_usd:.3f}"


def abbreviate_number(number: int) -> str:
    """Abbreviate a number: 950, 12.3k, 1.2M."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def print_summary(
    console: Console,
    finish_event: SessionFinished,
    *,
    session: str,
    is_judged: bool = False,
    **names: str,
) -> None:
    """Print the summary of a session; one that judges an existing change has neither diff nor report.

    `names` are those of the change and of commands, as of `summary_lines`.
    """
    if not is_judged:
        print_result(console, finish_event)
    verdict, *rows = summary_lines(finish_event, session=session, is_judged=is_judged, **names)
    console.print(verdict, soft_wrap=not console.is_terminal)
    for row in rows:
        if console.is_terminal:
            table = Table.grid()
            table.add_row(row[:NAME_COLUMNS], row[NAME_COLUMNS:])
            console.print(table)
        else:
            console.print(row, soft_wrap=True)


def print_result(console: Console, finish_event: SessionFinished) -> None:
    diff, report = (
        sanitize_text(finish_event.delivery.diff if finish_event.delivery else ""),
        sanitize_text(report_body(finish_event)),
    )
    if diff:
        console.print()
        print_diff(console, diff)
    if report:
        console.print()
        console.print(Markdown(report) if console.is_terminal else Text(report), soft_wrap=True)
    console.print()


def print_diff(console: Console, diff: str) -> None:
    """Print a diff, on a terminal in colours."""
    if console.file.isatty():  # not as FORCE_COLOR says: what is piped or redirected stays a diff
        console.print(Syntax(diff, "diff", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        print(diff, end="" if diff.endswith("\n") else "\n", file=console.file)  # rich drops tabs


def report_body(finish_event: SessionFinished) -> str:
    """Return the report; empty if it is the verdict's evidence, which the summary lines say in short."""
    heading, found, _ = finish_event.report.partition(f"\n\n{finish_event.summary}\n")
    is_evidence = found and heading.startswith("# ") and "\n" not in heading
    return "" if is_evidence else finish_event.report


def summary_lines(
    finish_event: SessionFinished,
    *,
    session: str,
    command: str = "",
    is_judged: bool = False,
    change: str = "",
) -> Iterable[Text]:
    """Yield a line each: verdict, tests, examples, what is open, changed files, runs, cost, next step.

    `command` is how the user writes `apply` and `undo` for this session, by default with the end of its id.
    One that judges an existing change delivers nothing, and has a cost only where it asked a model; `change`
    names it to `coder verify`.
    """
    command = command or f"coder {{}} {session.rpartition('-')[2]}"
    kind, verdict = finish_event.kind, finish_event.verdict
    is_verdict = verdict is not None and finish_event.summary == verdict.reason
    yield Text.assemble(
        (outcome_label(finish_event), STYLES[kind] if kind else "bold red"),
        f"  {sanitize_text(verdict.headline if verdict and is_verdict else finish_event.summary)}",
    )
    if finish_event.kind is None and finish_event.exit_code == MISUSE and not finish_event.spent.requests:
        return  # refused before any work
    if finish_event.delivery:
        change = "HEAD" if finish_event.delivery.merged else finish_event.delivery.branch
    rows = [*evidence_rows(verdict, session=session, has_seconds=is_judged, change=change)] if verdict else []
    if finish_event.delivery:
        place = next((n for n, row in enumerate(rows) if row.name in ("tests", "evidence")), len(rows))
        rows.insert(place, Row("changed", _changed_files(finish_event.delivery.diff)))
    for row in rows:
        yield _row(row.name, sanitize_text(row.text))
    if not is_judged or finish_event.spent.requests:
        yield _row("cost", format_cost(finish_event))
    hint = _resume_hint(finish_event, session, command)
    if finish_event.delivery:
        yield _row("next", f"{hint}{_next_step(finish_event.delivery, command)}")
    elif not is_judged or not verdict:
        left = "nothing was left in the repository; " if finish_event.exit_code else ""
        changed = f"the change: coder log diff {session}; " if finish_event.has_changes else ""
        yield _row("next", f"{hint}{changed}{left}the record: coder log show {session}")


MISUSE, INTERRUPTED = 2, 130
"""Exit codes: wrong use, or a model that cannot be asked; stopped by the user."""
WAITING = "your answers"
"""Stage in which the session waits for the user, which is no cost."""


def format_cost(finish_event: SessionFinished) -> str:
    """Format the seconds and the parts that they add up from, then requests, tokens and money."""
    stages = finish_event.stages
    seconds = round(finish_event.seconds - stages.get(WAITING, 0.0))
    shares = {
        "tests": round(sum(stages.get(name, 0.0) for name in TEST_STAGES)),
        **{name: round(stages.get(name, 0.0)) for name in ("search", "checks", "tools", "model")},
    }
    rest = seconds - sum(shares.values())
    if rest > 1:
        shares["start and delivery"] = rest
    elif abs(rest) == 1:  # what rounding left
        shares[max(shares, key=shares.__getitem__)] += rest
    shown = [f"{name} {share} s" for name, share in shares.items() if share]
    split = f" ({', '.join(shown)})" if len(shown) > 1 else ""
    attempts, spent = finish_event.attempts, finish_event.spent
    spending = format_spending(spent)
    return ", ".join(
        [
            f"{seconds} s{split}",
            *([f"{attempts} attempts"] if attempts > 1 else []),
            *spending,
        ]
    )


TEST_STAGES = ("base", "reproduction", "targets", "impacted", "suite", "old tests")


def _resume_hint(finish_event: SessionFinished, session: str, command: str) -> str:
    """Return how to go on with an interrupted session."""
    if finish_event.kind is not None or finish_event.exit_code != INTERRUPTED:
        return ""
    return f"go on: {command.partition('{')[0]}resume {session}; "


def _next_step(delivery: Delivery, command: str) -> str:
    apply, undo = command.format("apply"), command.format("undo")
    if delivery.merged:
        return f"it is on your branch; undo: {undo}"
    if delivery.branch:
        return f"on branch {delivery.branch}; apply: {apply}; undo: {undo}"
    return f"nothing was written to the repository; apply: {apply}"


def _changed_files(diff: str) -> str:
    """Format the files of a git diff: `a.py (+2 -1), b.py (+9)`."""
    counts: dict[str, Counter[str]] = {}
    for hunk in split_git_diff(diff):
        signs = counts.setdefault(hunk.path, Counter())
        signs.update(line.sign for line in hunk_lines(hunk.body))
    files = [f"{path} (+{signs['+']} -{signs['-']})" for path, signs in counts.items()]
    return join_first(files, SHOWN_FILES)


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"{name:<{NAME_COLUMNS}}", "dim"), text)


SHOWN_FILES = 8
NAME_COLUMNS = 9


STYLES_OF_LINES: Mapping[Style, str] = {
    "phase": "bold",
    "about": "dim",
    "note": "italic",
    "place": "cyan",
    "red": "red",
    "detail": "dim",
    "warning": "yellow",
    "error": "red",
    "answer": "dim",
    "verdict": "",
}
QUIET_SECONDS = 30.0
"""Time without output on a pipe after which a progress line is printed."""
ReadLine = Callable[[str], Awaitable[str | None]]
"""Shows a prompt and reads a line; None at the end of the input, or if it was interrupted."""


def _is_first_word(event: events.Event) -> bool:
    """Tell whether an event is a verdict that is said before the change is examined."""
    return isinstance(event, events.Verified) and event.verdict.is_examinable


class LinePrinter:
    """Follower of the event log that prints lines."""

    def __init__(
        self,
        console: Console,
        *,
        verbose: bool,
        send: Callable[[events.SessionCommand], None],
        read_line: ReadLine | None = None,
        has_summary: bool = False,
        quiet: bool = False,
    ) -> None:
        """Take `read_line`, which reads answers; without it, the session takes the defaults of its questions.

        With `has_summary`, the caller prints the last verdict afterwards. `quiet` prints only the first
        word and what goes wrong; progress in a pipe goes to standard error.
        """
        self._has_summary = has_summary
        self._quiet = quiet
        self._verdict_lines: list[Text] = []
        """Of the newest verdict, which may be the last."""
        self._read_line = read_line
        self._console = console
        self._verbose = verbose
        self._send = send
        self._status = Status()
        self._calls: dict[tuple[str, str], ToolCall] = {}
        """By candidate and id: servers may count the calls of each conversation anew."""
        self._activity = ""
        self._heading: events.PhaseEntered | None = None
        self._last_output_at: datetime | None = None
        self._live = Live(
            console=console, refresh_per_second=8, transient=True, get_renderable=self._status_line
        )

    async def show(self, records: AsyncIterator[events.Record]) -> None:
        """Print until the log ends, with a live status line on a terminal, and have questions answered."""
        with self._live if self._console.is_terminal else nullcontext():
            async for record in records:
                self.print_record(record)
                if self._read_line is not None and isinstance(record.event, events.AnyQuestion):
                    self._live.stop()
                    self._send(await ask_in_lines(self._console, record.event, self._read_line))
                    if self._console.is_terminal:
                        self._live.start()

    def print_record(self, record: events.Record) -> None:
        self._status = advance_status(self._status, record)
        self._activity = current_activity(record.event) or self._activity
        if isinstance(record.event, events.ToolStarted):
            self._calls[record.event.candidate, record.event.call.id] = record.event.call
        if self._quiet:
            self._print_quietly(record)
            return
        lines = self._lines_with_heading(record.event)
        if isinstance(record.event, events.SessionFinished):
            self._verdict_lines = []
        elif (
            isinstance(record.event, events.Verified)
            and self._has_summary
            and not _is_first_word(record.event)
        ):
            lines, self._verdict_lines = self._verdict_lines, lines
        elif lines or isinstance(record.event, events.QuestionAsked | events.ReviewAsked):
            lines, self._verdict_lines = [*self._verdict_lines, *lines], []
        if not lines and isinstance(record.event, events.ToolStreamed) and self._is_silent(record):
            lines = [Text(f"  ... {shorten(record.event.text)}", "dim")]
        self._last_output_at = record.at if lines else self._last_output_at
        self._print(lines)

    def _print_quietly(self, record: events.Record) -> None:
        """Print the first word, warnings and errors, and to standard error of a pipe progress."""
        if isinstance(record.event, events.Warned | events.Failed):
            self._print(self._lines(record.event))
        elif _is_first_word(record.event):
            word = next(iter(describe_event(record.event)))  # the summary says the rest
            self._print([_render(replace(word, indent=0))])
        if not isinstance(record.event, events.ToolStreamed):
            self._last_output_at = self._last_output_at or record.at
        elif self._is_silent(record):
            self._last_output_at = record.at
            print(sanitize_text(f"... {shorten(record.event.text)}"), file=sys.stderr)

    def _print(self, lines: Sequence[Text]) -> None:
        for line in lines:
            if (safe := sanitize_text(line.plain)) != line.plain:
                line.plain = safe
            self._console.print(line, soft_wrap=not self._console.is_terminal)

    def _is_silent(self, record: events.Record) -> bool:
        """Tell whether this is a pipe, which has no status line, without output for a while."""
        if self._console.is_terminal or self._last_output_at is None:
            return False
        return (record.at - self._last_output_at).total_seconds() >= QUIET_SECONDS

    def _lines_with_heading(self, event: events.Event) -> list[Text]:
        """Return the lines of an event, after the heading of its phase if they are the first of it.

        A phase without lines has no heading.
        """
        if isinstance(event, events.PhaseEntered) and event.phase == "research":
            self._heading = None
            return []  # several begin at once; their forks say so
        if isinstance(event, events.PhaseEntered) and event.phase != "verify":
            self._heading = event
            return []
        lines = self._lines(event)
        if not lines or self._heading is None:
            return lines
        heading, self._heading = self._heading, None
        if isinstance(event, events.ToolFinished):
            heading = change_heading(heading, event.message.name)
        return lines if isinstance(event, events.PhaseEntered) else [*_plain_lines(heading), *lines]

    def _lines(self, event: events.Event) -> list[Text]:
        match event:
            case events.ToolFinished(candidate=candidate, message=message):
                call = self._calls.pop((candidate, message.call_id))
                line = Text.assemble(
                    "  ",
                    (_researcher_label(candidate), "dim"),
                    (message.name, "cyan" if message.ok else "yellow"),
                    " ",
                    summarize_arguments(call.arguments),
                )
                output_lines = (
                    message.text.splitlines()
                    if self._verbose
                    else message.text.splitlines()[: 0 if message.ok else 1]
                )
                return [line, *(Text(f"    {shorten(text)}", "dim") for text in output_lines)]
            case events.MessageFinished(message=AssistantMessage(calls=())) if self._status.phase == "answer":
                return []  # the summary shows it
            case events.MessageFinished(message=AssistantMessage(text=text)) if text.strip():
                text_lines = text.strip().splitlines()
                return [
                    Text(f"  {shorten(line)}", "italic")
                    for line in (text_lines if self._verbose else text_lines[:4])
                ]
        return _plain_lines(event, are_details_shown=self._verbose)

    def _status_line(self) -> Spinner | Text:
        if not self._status.phase:
            return Text("")
        status = self._status
        seconds = (utc_now() - status.started).total_seconds() if status.started else 0.0
        parts = [*status_parts(status), f"{seconds:.0f} s", self._activity]
        return Spinner(
            "dots", Text(shorten(sanitize_text(" · ".join(part for part in parts if part))), "dim")
        )


def _render(line: Line) -> Text:
    style = STYLES_OF_LINES[line.style]
    lead = STYLES[line.kind] if line.kind else "bold"
    return Text.assemble("  " * line.indent, (line.lead, lead), (line.text, "" if line.kind else style))


def _plain_lines(event: events.Event, *, are_details_shown: bool = False) -> list[Text]:
    match event:
        case events.SessionStarted(session=session, repository=repository, model=model, dirty=dirty):
            suffix = ", uncommitted work included" if dirty else ""
            return [Text(f"session {session}, {model}"), Text(f"{repository}{suffix}", "dim")]
        case _:
            lines = describe_event(event)
            return [_render(line) for line in lines if are_details_shown or not line.is_detail]


def _researcher_label(candidate: str) -> str:
    """Return the part of a researcher, since several work at the same time; empty for others."""
    name = candidate.partition("/")[2]
    return f"{name} " if name.startswith("research-") else ""


YES, NO = ("y", "yes"), ("n", "no", "")


class PrintedQuestion(NamedTuple):
    lines: Sequence[str]
    prompt: str


async def ask_in_lines(
    console: Console, event: events.AnyQuestion, read_line: ReadLine
) -> events.SessionCommand:
    question = describe_question(event)
    for line in question.lines:
        is_prose = isinstance(event, events.QuestionAsked)  # lines of a diff are left to the terminal
        console.print(sanitize_text(line), markup=False, highlight=False, soft_wrap=not is_prose)
    return answer_command(event, (await read_line(question.prompt) or "").strip())


def describe_question(event: events.AnyQuestion) -> PrintedQuestion:
    """Return a question as it is printed, with what can be typed."""
    match event:
        case events.QuestionAsked(
            text=text, options=options, default=default, takes_instruction=takes_instruction
        ):
            choices = [f"{number}: {option}" for number, option in enumerate(options, start=1)]
            if default == options[0]:
                keys = _answer_keys(options)
                named = ", ".join(f"{key}: {option}" for key, option in keys.items())
                return PrintedQuestion([text], f"{named} [{'/'.join(keys)}] ")
            if default == options[-1]:
                choices = [f"y: {options[0]}", f"n: {default}", *choices[1:-1]]
            if takes_instruction:
                choices.append("or what to do instead" if default == events.REFUSE else "or another answer")
            return PrintedQuestion([text], f"{', '.join(choices)} > ")
        case events.ReviewAsked(diff=diff, verdict=verdict):
            about = f" It is {verdict.label}: {verdict.reason}" if verdict else ""
            hunks = split_git_diff(diff)
            lines = [f"The change is ready for your review.{about}", *_hunk_lines(hunks)]
            some = "the numbers of the hunks to deliver, " if len(hunks) > 1 else ""
            return PrintedQuestion(lines, f"y to deliver it, n to refuse it, {some}or what to change: ")
        case events.PlanAsked(plan=plan):
            lines = ["A plan is ready.", *format_plan(plan).splitlines()]
            return PrintedQuestion(lines, "y to run it, n to refuse it: ")


def _hunk_lines(hunks: Sequence[Hunk]) -> Iterator[str]:
    for number, hunk in enumerate(hunks, start=1):
        yield f"Hunk {number} of {len(hunks)}, {hunk.path}:"
        yield from (hunk.body or hunk.header).splitlines()


def answer_command(event: events.AnyQuestion, reply: str) -> events.SessionCommand:
    """Return the command that answers a question with what the user typed.

    What is unclear is the safe answer.
    """
    match event:
        case events.QuestionAsked(question=question, options=options, default=default):
            option = _find_option(reply, options, default=default)
            instruction = reply if event.takes_instruction and not option else ""
            return events.QuestionAnswered(
                question=question, option=option or default, instruction=instruction
            )
        case events.ReviewAsked(question=question, diff=diff):
            hunks = tuple(range(len(split_git_diff(diff))))
            if reply.lower() in YES:
                return events.ReviewAnswered(question=question, accepted=hunks)
            if reply.lower() in NO:
                return events.ReviewAnswered(question=question, accepted=())
            if re.fullmatch(r"[\d\s,]+", reply):
                chosen = {int(number) - 1 for number in re.findall(r"\d+", reply)}
                return events.ReviewAnswered(question=question, accepted=tuple(sorted(chosen & {*hunks})))
            return events.ReviewAnswered(
                question=question, accepted=hunks, comments=(HunkComment(hunk=0, text=reply),)
            )
        case events.PlanAsked(question=question, plan=plan):
            return events.PlanAnswered(question=question, plan=plan if reply.lower() in YES else None)


def _answer_keys(options: Sequence[str]) -> dict[str, str]:
    """Return the keys of options of which the first is the default: y, n for the last, else first letters."""
    first, *others, last = options
    return {"y": first, "n": last, **{option[0]: option for option in others}}


def _find_option(reply: str, options: Sequence[str], *, default: str) -> str:
    """Return the option that a reply names: y the first, a number, or its own words; empty if none."""
    answer = reply.lower()
    if default == options[0] and (option := _answer_keys(options).get(answer[:1])):
        return option
    if answer in YES and default == options[-1]:
        return options[0]
    if answer.isdecimal() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1]
    if answer in NO:
        return default
    return next((option for option in options if option.lower() == answer), "")


async def read_answer(prompt: str) -> str:
    print(prompt, end="", flush=True)
    return await read_line()


async def read_line() -> str:
    """Read a line from the terminal without a thread, which could not be cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
        return sys.stdin.readline()
    finally:
        with suppress(ValueError):
            loop.remove_reader(sys.stdin.fileno())


class PipedConsole(Console):
    """Console whose reader may close the pipe, which by default makes rich end the whole program."""

    def on_broken_pipe(self) -> None:
        """Leave a broken pipe to the caller that prints.

        Raises:
            BrokenPipeError: always.
        """
        raise BrokenPipeError
