"""Conversation in plain lines: prompts are typed, events are printed, and the cursor is never moved."""

import asyncio
import signal
import sys
import termios
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from rich.console import Console

from coder.core.errors import CoderError, UserError
from coder.core.events import (
    Amend,
    Answer,
    Decide,
    Event,
    PlanAsked,
    QuestionAsked,
    ReviewAsked,
    SessionCommand,
    SessionFinished,
    Stop,
)
from coder.core.plan import format_plan
from coder.core.state import delivered_diff, describe_context, interrupted_task, next_mode, session_status
from coder.core.text import sanitize_text
from coder.core.values import HunkComment
from coder.patching.git_hunks import split_git_diff
from coder.session.log import EventLog
from coder.ui.lines import LinePrinter, read_line
from coder.ui.summary import print_result, summary_lines
from coder.ui.tui.commands import (
    HELP,
    MODES,
    PromptCommand,
    carry_out,
    parse_command,
    suggest_command,
)
from coder.ui.tui.services import (
    MOST_CHARACTERS,
    TRUST_ALWAYS,
    OpenedRepository,
    RunningSession,
    Services,
    SessionModel,
    StartSession,
    TrustQuestion,
    UserRequest,
    require_service,
)

ReadLine = Callable[[str], Awaitable[str | None]]
"""Shows a prompt and reads a line; None at the end of the input, or if it was interrupted."""


class Dialogue:
    """Reads requests, commands and answers, and prints each session by following its log."""

    def __init__(
        self,
        start: StartSession,
        *,
        console: Console,
        read_line: ReadLine,
        discard_input: Callable[[], None],
        model: Callable[[], SessionModel],
        services: Services,
        open_repository: Callable[[], OpenedRepository] = OpenedRepository,
        first_message: str = "",
    ) -> None:
        """Take `start`, which opens sessions, and `discard_input`, which forgets what was typed too early.

        `open_repository` and `model` may be slow. The `first_message` is taken as the first line.
        """
        self._start = start
        self._console = console
        self._read_line = read_line
        self._discard_input = discard_input
        self._model = model
        self._open_repository = open_repository
        self._services = services
        self._first_message = first_message
        self._commands = DialogueCommands(services, print_lines=self._print, ask=self._ask_user)
        self._session: RunningSession | None = None
        self.newest_log: EventLog | None = None
        """Log of the newest session, which the next request continues."""

    def stop(self) -> None:
        """Stop the session that runs, if one does."""
        if self._session is not None:
            self._session.send(Stop())

    async def run(self) -> None:
        """Converse until the user leaves.

        Raises:
            CoderError: the repository cannot be opened.
        """
        opened = await asyncio.to_thread(self._open_repository)
        if opened.trust is not None and not await self._ask_for_trust(opened.trust):
            return
        await self._introduce()
        if opened.initial_session is not None:
            await self._perform(opened.initial_session)
            self._tell_interrupted_request()
        lines = [self._first_message] if self._first_message else []
        while (line := lines.pop() if lines else await self._read_line(f"{self._mode}: ")) is not None:
            try:
                if not await self._handle_line(line.strip()):
                    return
            except CoderError as error:
                self._print([str(error)])

    @property
    def _mode(self) -> str:
        return "fix" if self.newest_log is None else next_mode(self.newest_log.records)

    async def _introduce(self) -> None:
        try:
            model = await asyncio.to_thread(self._model)
        except CoderError as error:
            self._print([str(error)])
        else:
            self._print([f"Model: {model.name}" if model.name else f"No model: {model.reason}"])
        self._print(["Describe a bug and press enter. /help lists the commands, /quit leaves."])

    async def _handle_line(self, text: str) -> bool:
        """Carry out what was typed, and return whether the conversation goes on."""
        command = parse_command(text)
        if command is None and text.startswith("!"):
            await self._commands.run_shell(text[1:].strip())
        elif command is None:
            if text:
                await self._request(text, "ask" if text.endswith("?") else self._mode)
        elif command.name == "quit":
            return False
        else:
            await self._run_command(command)
        return True

    async def _run_command(self, command: PromptCommand) -> None:
        name, text = command
        if name == "help":
            self._print(f"/{name} {purpose}" for name, purpose in DIALOGUE_HELP.items())
        elif name not in DIALOGUE_HELP:
            raise UserError(suggest_command(name, DIALOGUE_HELP))
        elif name in MODES:
            if not text and name != "verify":
                raise UserError(f"/{name} {DIALOGUE_HELP[name]}")
            await self._request(text, MODES[name])
        elif name == "new":
            self.newest_log = None
            self._print(["The next message begins a new session."])
        elif name in ("resume", "rewind"):
            await self._go_on(name, text)
        else:
            await self._commands.run(name, text, self.newest_log)

    async def _go_on(self, name: str, text: str) -> None:
        """Take another session, or an earlier point of this conversation, to go on from."""
        archive = require_service(self._services.archive)
        session = text or "last"
        if name != "resume":
            if self.newest_log is None:
                raise UserError("There is no conversation to go back in yet.")
            if not text.isdecimal():
                raise UserError(f"/{name} needs the number of a request, such as /{name} 1.")
            current = session_status(self.newest_log.records[:1]).session
            session, sentence = await asyncio.to_thread(archive.go_back, current, int(text), "both")
            self._print(sentence.splitlines())
        self.newest_log = await asyncio.to_thread(archive.load, session)
        if name == "resume":
            await self._print_events(self.newest_log)
        self._tell_interrupted_request()

    def _tell_interrupted_request(self) -> None:
        task = interrupted_task(self.newest_log.records) if self.newest_log is not None else None
        if task is not None:
            self._print([f"This request did not come to its end; send it again to go on: {task.issue}"])

    async def _request(self, text: str, mode: str) -> None:
        judges = mode == "verify"
        log = self.newest_log
        continues = "" if judges or log is None else session_status(log.records[:1]).session
        outputs = () if judges else self._commands.take_outputs()
        running = await self._start(UserRequest(text, mode, continues, outputs))
        await self._perform(running, can_continue=not judges)

    async def _perform(self, running: RunningSession, *, can_continue: bool = True) -> None:
        """Run a session to its end, and print all of it."""
        self._session = running
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._print_events(running.log, running))
                await running.run()
        finally:
            self._session = None
        if can_continue:
            self.newest_log = running.log

    async def _print_events(self, log: EventLog, running: RunningSession | None = None) -> None:
        """Print a log until it ends; questions are only asked where a session waits for the answer."""
        printer = LinePrinter(self._console, verbose=False, send=lambda _: None)
        async for record in log.follow():
            printer.print_record(record)
            question = describe_question(record.event)
            if question is not None and running is not None and not log.is_closed:
                self._discard_input()
                self._print(question.lines)
                reply = await self._read_line(question.prompt)
                running.send(answer_command(record.event, (reply or "").strip()))
            if isinstance(record.event, SessionFinished):
                print_result(self._console, record.event)
                session = session_status(log.records[:1]).session
                self._print(
                    line.plain for line in summary_lines(record.event, session=session, command="/{}")
                )

    async def _ask_for_trust(self, trust: TrustQuestion) -> bool:
        choice = await self._ask_user(f"{trust.text}\n{trust.details}", trust.options)
        if choice == trust.decline:
            return trust.can_decline
        await asyncio.to_thread(trust.trust, choice == TRUST_ALWAYS)
        return True

    async def _ask_user(self, text: str, options: tuple[str, ...]) -> str:
        """Ask a question that no session asks; the last option is the safe one."""
        self._print([text])
        others = [f"{number} for {option}" for number, option in enumerate(options[1:-1], start=2)]
        choices = ", ".join([f"y for {options[0]}", *others, f"n for {options[-1]}"])
        reply = await self._read_line(f"{choices}: ")
        return choose_option((reply or "").strip(), options, default=options[-1])

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._console.print(sanitize_text(line), markup=False, highlight=False, soft_wrap=True)


ON_A_SCREEN = ("copy", "theme")
"""Commands that need the interface on a screen: the terminal copies lines itself, and has its own colours."""
DIALOGUE_HELP: Mapping[str, str] = {
    name: purpose for name, purpose in HELP.items() if name not in ON_A_SCREEN
}


class DialogueCommands:
    """Runs one command at a time and prints its answer."""

    def __init__(
        self,
        services: Services,
        *,
        print_lines: Callable[[Iterable[str]], None],
        ask: Callable[[str, tuple[str, ...]], Awaitable[str]],
    ) -> None:
        """Take `ask`, which has the user choose among options, the last of which is the safe one."""
        self._services = services
        self._print_lines = print_lines
        self._ask = ask
        self._outputs: list[tuple[str, str]] = []

    def take_outputs(self) -> tuple[tuple[str, str], ...]:
        """Return the commands since the last request, each with its output, and forget them."""
        outputs = tuple(self._outputs)
        self._outputs.clear()
        return outputs

    async def run(self, name: str, text: str, newest: EventLog | None) -> None:
        """Carry out a command; `newest` is the log of the session that the next request continues.

        Raises:
            CoderError: it cannot be done.
        """
        self._print_lines(await asyncio.to_thread(partial(self._answer, name, text, newest)))

    def _answer(self, name: str, text: str, newest: EventLog | None) -> Sequence[str]:
        match name:
            case "diff":
                log = require_service(self._services.archive).load(text) if text else newest
                diff = delivered_diff(log.records) if log is not None else ""
                if not diff:
                    raise UserError("Nothing has been changed yet.")
                return diff.splitlines()
            case "context":
                return describe_context(newest.records if newest is not None else ())
        return carry_out(self._services, name, text)

    async def run_shell(self, command: str) -> None:
        """Run a command in the sandbox, print its output, and keep it for the next request if it is short.

        Raises:
            CoderError: it cannot be run.
        """
        if not command:
            raise UserError("! needs a command, such as !ls")
        shell = require_service(self._services.shell)
        objection = await asyncio.to_thread(shell.objection, command)
        question = f"Allow this? {command}   ({objection})"
        if objection and await self._ask(question, ("allow", "refuse")) != "allow":
            self._print_lines(["Not run."])
            return
        output = sanitize_text(await asyncio.to_thread(shell.run, command, threading.Event()))
        self._print_lines(output.splitlines())
        if len(output) <= MOST_CHARACTERS:
            self._outputs.append((command, output))


YES, NO = ("y", "yes"), ("n", "no", "")


class PrintedQuestion(NamedTuple):
    lines: Sequence[str]
    prompt: str


def describe_question(event: Event) -> PrintedQuestion | None:
    """Return the question that an event asks; None if it asks none."""
    match event:
        case QuestionAsked(text=text, options=options, default=default, takes_instruction=takes_instruction):
            choices = [f"{number} for {option}" for number, option in enumerate(options, start=1)]
            if default == options[-1]:
                choices = [f"y for {options[0]}", f"n for {default}", *choices[1:-1]]
            if takes_instruction:
                choices.append("or what to do instead")
            return PrintedQuestion([text], f"{', '.join(choices)}: ")
        case ReviewAsked(diff=diff, verdict=verdict):
            about = f" It is {verdict.label}: {verdict.reason}" if verdict else ""
            lines = [f"The change is ready for your review.{about}", *diff.splitlines()]
            return PrintedQuestion(lines, "y to deliver it, n to refuse it, or what to change: ")
        case PlanAsked(plan=plan):
            lines = ["A plan is ready.", *format_plan(plan).splitlines()]
            return PrintedQuestion(lines, "y to run it, n to refuse it: ")
    return None


def answer_command(event: Event, reply: str) -> SessionCommand:
    """Return the command that answers a question with what the user typed.

    What is unclear is the safe answer.
    """
    match event:
        case QuestionAsked(question=question, options=options, default=default):
            option = _find_option(reply, options, default=default)
            instruction = reply if event.takes_instruction and not option else ""
            return Answer(question=question, option=option or default, instruction=instruction)
        case ReviewAsked(question=question, diff=diff):
            hunks = tuple(range(len(split_git_diff(diff))))
            if reply.lower() in YES:
                return Decide(question=question, accepted=hunks)
            if reply.lower() in NO:
                return Decide(question=question, accepted=())
            return Decide(question=question, accepted=hunks, comments=(HunkComment(hunk=0, text=reply),))
        case PlanAsked(question=question, plan=plan):
            return Amend(question=question, plan=plan if reply.lower() in YES else None)
        case _:
            raise ValueError(f"{event.type} asks nothing")


def choose_option(reply: str, options: Sequence[str], *, default: str) -> str:
    """Return the option that a reply names: y the first, a number, or its own words; else the default."""
    return _find_option(reply, options, default=default) or default


def _find_option(reply: str, options: Sequence[str], *, default: str) -> str:
    """Return the option that a reply names; empty if it names none."""
    answer = reply.lower()
    if answer in YES and default == options[-1]:
        return options[0]
    if answer.isdecimal() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1]
    if answer in NO:
        return default
    return next((option for option in options if option.lower() == answer), "")


class TerminalInput:
    """Reads lines from standard input; Ctrl-C ends the one that is being read."""

    def __init__(self) -> None:
        self._pending: asyncio.Task[str] | None = None

    async def read(self, prompt: str) -> str | None:
        """Show a prompt and return a line; None at the end of the input, or after Ctrl-C."""
        print(prompt, end="", flush=True)
        self._pending = asyncio.create_task(read_line())
        await asyncio.wait({self._pending})
        if self._pending.cancelled():
            print()
            return None
        return self._pending.result() or None

    def discard(self) -> None:
        """Forget what was typed before it was asked for."""
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    @contextmanager
    def on_interrupt(self, act: Callable[[], None]) -> Iterator[None]:
        """Let Ctrl-C end the line that is being read, and call `act`."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            act()
            if self._pending is not None:
                self._pending.cancel()

        loop.add_signal_handler(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
