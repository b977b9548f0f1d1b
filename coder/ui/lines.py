"""Events printed as terminal lines, in colour on a terminal and plain in a pipe."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from coder.core import events
from coder.core.notes import (
    Findings,
    ReviewFinding,
)
from coder.core.plan import format_plan
from coder.core.state import Status, advance_status
from coder.core.text import sanitize_text
from coder.core.values import AssistantMessage, Hunk, HunkComment, ToolCall
from coder.core.verdict import Verdict
from coder.patching.git_hunks import split_git_diff
from coder.session.log import utc_now
from coder.ui.describe import (
    STYLES,
    Line,
    Style,
    change_heading,
    current_activity,
    describe_event,
    shorten,
    status_parts,
    summarize_arguments,
)

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
QUIET_SECONDS = 10.0
"""Time without output on a pipe after which a progress line is printed; it doubles with each in a row."""
MOST_QUIET_SECONDS = 300.0
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
        self._quiet_seconds = QUIET_SECONDS
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
        elif lines:
            self._quiet_seconds = QUIET_SECONDS
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
        """Tell whether this is a pipe, which has no status line, without output for a while.

        The next line of progress comes after twice that time.
        """
        if self._console.is_terminal or self._last_output_at is None:
            return False
        if (record.at - self._last_output_at).total_seconds() < self._quiet_seconds:
            return False
        self._quiet_seconds = min(2 * self._quiet_seconds, MOST_QUIET_SECONDS)
        return True

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


NEAR_LINES = 3
"""Lines between a finding and an observation that still belong together."""


def review_lines(records: Sequence[events.Record], verdict: Verdict) -> Iterator[str]:
    """Yield the report in lines, one reviewer after the other, in the order of the log."""
    for record in records:
        match record.event:
            case events.NoteMade(candidate=candidate, note=Findings() as findings):
                yield from _reviewer_lines(candidate.rpartition("/")[2], findings, verdict)


def _reviewer_lines(reviewer: str, findings: Findings, verdict: Verdict) -> Iterator[str]:
    decision = "approves" if findings.approve else "requests changes"
    yield f"{reviewer} {decision}: {findings.summary}"
    for finding in findings.findings:
        yield f"  {finding.severity}  {finding.place}  {finding.text}"
        yield f"    tests: {observation(finding, verdict)}"


def observation(finding: ReviewFinding, verdict: Verdict) -> str:
    """Return what the verifier has seen at a finding's place, as a phrase."""
    failing = [
        result.id
        for result in verdict.failures
        if result.failure
        and any(_is_near(finding, frame.path, frame.line) for frame in result.failure.frames)
    ]
    if failing:
        return f"{', '.join(failing[:3])} fail{'s' if len(failing) == 1 else ''} here"
    report = verdict.mutation
    for place in report.survivors if report else ():
        if _is_near(finding, place.path, place.line):
            return f"none would notice a difference here ({place.what}, line {place.line})"
    if report and report.tried:
        return f"none fails here; they caught {report.share} deliberate defects of the change"
    return "none fails here; whether one would notice a difference here was not tried"


def _is_near(finding: ReviewFinding, path: str, line: int) -> bool:
    """Return whether a place belongs to a finding; one on a whole file covers all its lines."""
    return finding.path == path and (not finding.line or abs(finding.line - line) <= NEAR_LINES)
