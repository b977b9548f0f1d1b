"""Conversation in plain lines: prompts are typed, events are printed, and the cursor is never moved."""

import asyncio
import signal
import sys
import termios
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from coder.core.errors import CoderError, UserError
from coder.core.events import QuestionAnswered, QuestionAsked, Record, SessionFinished, Stop
from coder.core.state import interrupted_task, next_mode, session_status
from coder.core.text import sanitize_text
from coder.session.log import EventLog, RunningSession, run_and_follow
from coder.ui.lines import LinePrinter, ReadLine, ask_in_lines, print_summary, read_line
from coder.ui.tui.commands import (
    HELP,
    Commands,
    PromptCommand,
    Services,
    TypedRequest,
    custom_purposes,
    interpret,
)


class Dialogue:
    """Reads requests, commands and answers, and prints each session by following its log."""

    def __init__(
        self,
        services: Services,
        *,
        console: Console,
        read_line: ReadLine,
        discard_input: Callable[[], None],
        first_message: str = "",
    ) -> None:
        """Take `discard_input`, which forgets what was typed too early, and a message as the first line."""
        self._console = console
        self._read_line = read_line
        self._discard_input = discard_input
        self._services = services
        self._first_message = first_message
        self._commands = Commands(
            services,
            newest=lambda: self.newest_log,
            show_lines=self._print,
            show_diff=lambda diff: self._print(diff.splitlines()),
            ask=self._ask_user,
        )
        self._session: RunningSession | None = None
        self.newest_log: EventLog | None = None
        """Log of the newest session, which the next request continues."""

    def stop(self) -> None:
        """Stop the session or the command that runs, if one does."""
        self._commands.stop()
        if self._session is not None:
            self._session.send(Stop())

    async def run(self) -> None:
        """Converse until the user leaves.

        Raises:
            CoderError: the repository cannot be opened.
        """
        opened = await asyncio.to_thread(self._services.open)
        self._print(opened.notices)
        if (trust := opened.trust) is not None:
            choice = await self._ask_user(f"{trust.text}\n{trust.details}", trust.options)
            if not await asyncio.to_thread(trust.settle, choice):
                return
        await self._introduce()
        if opened.initial_log is not None:
            self.newest_log = opened.initial_log
            await self._print_events(opened.initial_log)
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
        return next_mode(self._records)

    @property
    def _records(self) -> Sequence[Record]:
        """Records of the newest session; empty if there is none."""
        return self.newest_log.records if self.newest_log is not None else ()

    async def _introduce(self) -> None:
        try:
            model = await asyncio.to_thread(self._services.choose_model)
        except CoderError as error:
            self._print([str(error)])
        else:
            self._print([f"Model: {model.name}" if model.name else f"No model: {model.reason}"])
        self._print(["Describe a bug and press enter. /help lists the commands, /quit leaves."])

    async def _handle_line(self, text: str) -> bool:
        """Carry out what was typed, and return whether the conversation goes on."""
        if not text:
            return True
        mode = "ask" if text.endswith("?") else self._mode
        match await asyncio.to_thread(interpret, self._services, text, mode=mode):
            case TypedRequest() as request:
                await self._request(request)
            case PromptCommand("quit", _):
                return False
            case PromptCommand("help", _):
                purposes = {**HELP, **custom_purposes(self._services)}
                self._print(f"/{name} {purpose}" for name, purpose in purposes.items())
            case PromptCommand("new", _):
                self.newest_log = None
                self._print(["The next message begins a new session."])
            case PromptCommand("resume" | "rewind" as name, words):
                await self._go_on(name, words)
            case PromptCommand("context", _):
                self._commands.show_context(self.newest_log)
            case PromptCommand(name, words):
                await self._commands.run(name, words)
        return True

    async def _go_on(self, name: str, text: str) -> None:
        """Take another session, or an earlier point of this conversation, to go on from."""
        session = text or "last"
        if name != "resume":
            if self.newest_log is None:
                raise UserError("There is no conversation to go back in yet.")
            if not text.isdecimal():
                raise UserError(f"/{name} needs the number of a request, such as /{name} 1.")
            session, sentence = await asyncio.to_thread(
                self._services.go_back, self._commands.newest_id, int(text), "both"
            )
            self._print(sentence.splitlines())
        self.newest_log = await asyncio.to_thread(self._services.load_session, session)
        if name == "resume":
            await self._print_events(self.newest_log)
        self._tell_interrupted_request()

    def _tell_interrupted_request(self) -> None:
        if (task := interrupted_task(self._records)) is not None:
            self._print([f"This request did not come to its end; send it again to go on: {task.issue}"])

    async def _request(self, asked: TypedRequest) -> None:
        """Run a session to its end, and print all of it."""
        self._session = running = await self._services.start(self._commands.make_request(asked))
        try:
            await run_and_follow(running, self._print_events(running.log, running))
        finally:
            self._session = None
        if asked.mode != "verify":
            self.newest_log = running.log

    async def _print_events(self, log: EventLog, running: RunningSession | None = None) -> None:
        """Print a log until it ends; questions are only asked where a session waits for the answer."""
        if running is None or log.is_closed:
            printer = LinePrinter(self._console, verbose=False, send=lambda _: None)
        else:
            printer = LinePrinter(
                self._console, verbose=False, send=running.send, read_line=self._read_fresh_line
            )
        await printer.show(log.follow())
        if log.records and isinstance(finished := log.records[-1].event, SessionFinished):
            status = session_status(log.records[:1])
            print_summary(
                self._console, finished, session=status.session, is_judged=status.judges, command="/{}"
            )

    async def _read_fresh_line(self, prompt: str) -> str | None:
        """Read an answer and forget what was typed before; None if the session has ended meanwhile."""
        if self._session is None or self._session.log.is_closed:
            return None
        self._discard_input()
        return await self._read_line(prompt)

    async def _ask_user(self, text: str, options: tuple[str, ...]) -> str:
        """Ask a question that no session asks; the last option is the safe one."""
        question = QuestionAsked(question="interface", text=text, options=options, default=options[-1])
        answer = await ask_in_lines(self._console, question, self._read_line)
        return answer.option if isinstance(answer, QuestionAnswered) else options[-1]

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._console.print(sanitize_text(line), markup=False, highlight=False, soft_wrap=True)


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
