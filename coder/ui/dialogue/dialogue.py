"""Conversation in plain lines: prompts are typed, events are printed, and the cursor is never moved."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from rich.console import Console

from coder.core.commands import Stop
from coder.core.errors import CoderError, UserError
from coder.core.events import SessionFinished
from coder.core.state import interrupted_task, next_mode, session_status
from coder.core.values.text import sanitize_text
from coder.session.log import EventLog
from coder.ui.dialogue.commands import DIALOGUE_HELP, DialogueCommands
from coder.ui.dialogue.questions import answer_command, choose_option, describe_question
from coder.ui.lines import LinePrinter
from coder.ui.summary import print_result, summary_lines
from coder.ui.tui.commands import MODES, PromptCommand, parse_command, suggest_command
from coder.ui.tui.running import (
    OpenedRepository,
    RunningSession,
    SessionModel,
    StartSession,
    TrustQuestion,
    UserRequest,
)
from coder.ui.tui.services import Services, require_service

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
        self._print(opened.notices)
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
        if await self._ask_user(trust.text, ("trust", trust.decline)) == "trust":
            await asyncio.to_thread(trust.trust)
            return True
        return trust.can_decline

    async def _ask_user(self, text: str, options: tuple[str, str]) -> str:
        """Ask a question that no session asks; the second option is the safe one."""
        self._print([text])
        reply = await self._read_line(f"y for {options[0]}, n for {options[1]}: ")
        return choose_option((reply or "").strip(), options, default=options[1])

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._console.print(sanitize_text(line), markup=False, highlight=False, soft_wrap=True)
