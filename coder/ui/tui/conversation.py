"""Main screen, with the conversation that it shows: each request continues the newest session."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from coder.core.errors import CoderError, UserError
from coder.core.text import sanitize_text, shorten_line
from coder.ui.tui.commands import Services, SessionModel, UserRequest
from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.prompt import Prompt, make_prompt
from coder.ui.tui.transcript import StatusBar, Transcript

if TYPE_CHECKING:
    from coder.core.events import Record, SessionCommand
    from coder.session.log import EventLog, RunningSession
    from coder.ui.tui.dialogs import QuestionQueue
    from coder.ui.tui.narrator import Narrator

GREETING = (
    "What is wrong? Describe a bug: it is fixed on a branch of its own and proven by tests, and your files "
    "stay as they are."
)
EXAMPLES = (
    "Try:  a description of a bug, or the text of an issue",
    "      where is the discount computed?   (a question: nothing is changed)",
    "      /verify   (judges your uncommitted work)",
    "      /resume   (goes on with the newest session)",
    "      @ completes a file or symbol, ! runs a command",
)
MOST_RECORDS = 30
"""Newest records of a long session that are shown when it is opened: each costs about a millisecond."""


class ConversationScreen(Screen[None]):
    """Starts sessions, shows each in the same transcript, and passes the user's words on to it."""

    AUTO_FOCUS = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", show=False, priority=True, id="scroll_up"),
        Binding("pagedown", "scroll(1)", show=False, priority=True, id="scroll_down"),
        Binding("ctrl+end", "follow", show=False, priority=True, id="follow"),
    ]

    def __init__(
        self,
        repository: str,
        services: Services,
        *,
        keys: KeyBindings,
        alert: Callable[[], None],
        on_end: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take `on_end`, called whenever the next request may come.

        `alert` calls the user where an answer is needed, and at the end.
        """
        super().__init__()
        self._key_bindings = keys
        self._repository = repository
        self._services = services
        self._alert = alert
        self._on_end = on_end
        self._clock = clock
        self._narrator: Narrator | None = None
        self.is_open = asyncio.Event()
        """Set once the repository is open and the question of trust, if there is one, is answered."""
        self.sandbox = ""
        """`full`, `reduced` or `none`; empty until the repository is open."""
        self._session: RunningSession | None = None
        self.newest: EventLog | None = None
        """Log of the newest session, which the next request continues."""
        self._stopping = False
        self.logs: list[EventLog] = []
        """Logs of the sessions that were run here, in order."""
        self._model = SessionModel("?")
        self.is_busy = False
        """True while a session is opened or runs, or a command of the prompt is carried out."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="masthead"):
            yield Static("coder", classes="name")
            yield Static(self._repository, classes="repository", markup=False)
            yield Static("", classes="model", markup=False)
        yield Transcript()
        yield MessageQueue()
        yield StatusBar(self._clock)
        yield make_prompt(self._key_bindings)

    def on_mount(self) -> None:
        self.show_lines([GREETING], "greeting")
        self.show_lines(EXAMPLES, "about")
        self.query_one(Prompt).set_idle()

    # what the user asks for

    @property
    def current_log(self) -> "EventLog | None":
        """Log of the session that runs, else of the newest."""
        return self._session.log if self._session is not None else self.newest

    @property
    def _records(self) -> "Sequence[Record]":
        """Records of the newest session; empty if there is none."""
        return self.newest.records if self.newest is not None else ()

    @property
    def can_listen(self) -> bool:
        """True if a session runs whose model receives what the user says."""
        return self._session is not None and bool(self._model.name)

    def say(self, text: str) -> None:
        """Queue a message for the next request of the session that runs."""
        from coder.core.events import Say

        self.query_one(MessageQueue).add(text)
        self.send(Say(text=text))

    def withdraw(self) -> str:
        """Take back the newest queued message and return it; empty if none is queued."""
        from coder.core.events import Withdraw

        text = self.query_one(MessageQueue).withdraw(self._session.log) if self._session is not None else ""
        if text:
            self.send(Withdraw(text=text))
        return text

    def send(self, command: "SessionCommand") -> None:
        if self._session is not None:
            self._session.send(command)

    def forget(self) -> None:
        """Let the next request continue nothing."""
        self.newest = None
        self.show_lines(["The next message begins a new session."], "about")
        self.query_one(Prompt).set_idle()

    async def request(self, request: UserRequest) -> None:
        """Open a session for a request and run it; what cannot be opened goes back into the prompt."""
        judges = request.mode == "verify"
        self.begin("" if judges else request.text, has_listener=bool(self._model.name) and not judges)
        try:
            await self.wait_open()
            running = await self._services.start(request)
        except CoderError as error:
            self.warn(str(error))
            self.suggest(f"/verify {request.text}" if judges else request.text)
            self.end()
        else:
            # A verdict on the user's own change is nothing that requests go on from.
            await self._perform(running, can_continue=not judges)

    async def wait_open(self) -> None:
        """Wait until the repository is open.

        Raises:
            UserError: the user has stopped it before.
        """
        await self.is_open.wait()
        if self._stopping:
            raise UserError("Stopped before it began.")

    async def show(self, log: "EventLog") -> None:
        """Show a recorded session, and offer its request again if it did not come to its end."""
        self.begin(has_listener=bool(self._model.name), is_recorded=True)
        await self._follow(log)
        self.newest = log
        self.end()
        self._suggest_interrupted_request()

    async def resume(self, session: str) -> None:
        """Show a recorded session; the next request continues it."""
        try:
            log = await asyncio.to_thread(self._services.load_session, session)
        except CoderError as error:
            self.warn(str(error))
            self.end()
        else:
            await self.show(log)

    async def go_back(self, left: str, text: str) -> None:
        """Go on from before a request of the session `left`; ask for what `text` does not say.

        Raises:
            CoderError: there is nothing to go back to.
        """
        from coder.ui.tui.dialogs import go_back

        point = await go_back(self.app, self._services, left, text)
        if point is not None:
            self.newest, sentence = point
            self.show_lines([*sentence.splitlines(), f"To where you were: /resume {left}"])
            self._suggest_interrupted_request()

    def stop(self) -> None:
        """Stop what runs; a session that is still being opened stops as soon as it is open."""
        if self.is_busy and not self._stopping:
            self._stopping = True
            self.query_one(StatusBar).stop()
            self._send_stop()

    def _send_stop(self) -> None:
        from coder.core.events import Stop

        self.send(Stop())

    def _suggest_interrupted_request(self) -> None:
        from coder.core.state import interrupted_task

        if (task := interrupted_task(self._records)) is not None:
            self.suggest(task.issue)

    async def _perform(self, running: "RunningSession", *, can_continue: bool) -> None:
        """Run a session to its end, and show all of it."""
        from coder.session.log import run_and_follow
        from coder.ui.tui.dialogs import QuestionQueue

        self._session = running
        asking = QuestionQueue(self.app, running.send, self._alert)
        self.logs.append(running.log)
        if self._stopping:
            self._send_stop()
        try:
            await run_and_follow(running, self._follow(running.log, asking))
        except CoderError as error:
            self.warn(str(error))
        asking.close()
        if can_continue:
            self.newest = running.log
        self.end()
        self._alert()

    async def _follow(self, log: "EventLog", asking: "QuestionQueue | None" = None) -> None:
        """Show a log to its end; the questions of a recorded session are not `asking` any more."""
        assert self._narrator is not None, "a session begins before it is told"
        queue, start = self.query_one(MessageQueue), 1
        if log.is_closed and len(log.records) > 2 * MOST_RECORDS:  # shown at once, and not as it goes
            start = len(log.records) - MOST_RECORDS
            self._narrator.show_record(log.records[0])
            self._narrator.skip(log.records[1 : start - 1])
        async for record in log.follow(start):
            self._narrator.show_record(record)
            queue.remove_taken(record)
            if asking is not None:
                asking.handle_event(record.event)

    # what is shown

    def begin(self, issue: str = "", *, has_listener: bool, is_recorded: bool = False) -> None:
        """Prepare for a session that is being opened.

        Without an `issue`, the log will show it. `has_listener` tells whether a model receives the user's
        remarks, `is_recorded` whether the session has ended already.
        """
        from coder.ui.tui.narrator import Narrator

        self.is_busy = True
        transcript, status_bar = self.query_one(Transcript), self.query_one(StatusBar)
        prompt = self.query_one(Prompt)
        self._narrator = Narrator(transcript, status_bar, prompt, is_recorded=is_recorded)
        status_bar.begin()
        prompt.set_busy(has_listener=has_listener)
        transcript.anchor()
        if issue:
            transcript.add_issue(issue)

    def begin_command(self, text: str) -> None:
        self.show_lines([text], "command")
        self.query_one(StatusBar).begin(f"running {text}")
        self.query_one(Prompt).set_busy(has_listener=False)
        self.query_one(Transcript).anchor()

    def end(self) -> None:
        """Be ready for the next request; queued messages go back into the prompt."""
        from coder.core.state import next_mode

        self._session = None
        self.is_busy = self._stopping = False
        self.query_one(StatusBar).end()
        self.query_one(Prompt).set_idle(next_mode(self._records))
        self.show_facts()
        if text := self.query_one(MessageQueue).take_all():
            self.suggest(text)
        self._on_end()

    def show_model(self, choice: SessionModel) -> None:
        """Show the model; without one, show the reason and thereby how to get one."""
        self._model = choice
        for widget in self.query("#masthead .model").results(Static):  # empty if the user has quit meanwhile
            widget.update(choice.name or "no model")
        if not choice.name:
            self.show_lines([f"No model: {choice.reason}"], "greeting")

    async def add_completion(self) -> None:
        """Complete commands and names in the prompt from now on."""
        from coder.ui.tui.completion import Completion

        for prompt in self.query(Prompt):  # empty if the user has quit meanwhile
            completion = Completion(prompt, self._services)
            await self.mount(completion)
            prompt.take_key = completion.take_key

    def show_facts(self) -> None:
        """Show facts in the status line while no session runs, each with a command on it."""
        from coder.core.state import newest_request_tokens, session_status
        from coder.core.values import UsageTotals
        from coder.ui.lines import abbreviate_number, format_money

        spent = UsageTotals()
        for log in self.logs:
            spent = spent.plus(session_status(log.records).spent)
        context = newest_request_tokens(self._records)
        facts = [
            *([(f"{abbreviate_number(context)} tokens of context", "/context")] if context else []),
            *([(format_money(spent), "/cost")] if spent.requests else []),
            *([(f"sandbox {self.sandbox}", "/doctor")] if self.sandbox else []),
        ]
        for status_bar in self.query(StatusBar):
            status_bar.show_idle(facts)

    def show_lines(self, lines: Iterable[str], kind: str = "output") -> None:
        """Show lines for the user, such as the answer to a command."""
        for transcript in self.query(Transcript):
            for line in lines:
                transcript.add_line(line or " ", kind)

    def show_diff(self, diff: str) -> None:
        from coder.ui.tui.diff import render_diff

        self.query_one(Transcript).add(*render_diff(diff))

    def warn(self, text: str) -> None:
        self.show_lines([text], "warning")

    def suggest(self, text: str) -> None:
        self.query_one(Prompt).suggest(text)

    def action_type_command(self, command: str) -> None:
        """Type a command into the empty prompt."""
        self.suggest(command)
        self.query_one(Prompt).focus()

    def action_scroll(self, direction: int) -> None:
        transcript = self.query_one(Transcript)
        (transcript.scroll_page_up if direction < 0 else transcript.scroll_page_down)(animate=False)

    def action_follow(self) -> None:
        """Scroll back to the newest line."""
        self.query_one(Transcript).anchor()

    def on_key(self, event: Key) -> None:
        """Pass printable keys to the prompt from wherever they are typed, and those typed before the prompt
        has the focus.

        Keys that the prompt has handled do not come here.
        """
        if event.is_printable and event.character:
            prompt = self.query_one(Prompt)
            event.stop()
            prompt.focus()
            prompt.insert(event.character)


MOST_CHARACTERS = 200


class MessageQueue(Static):
    """Messages that wait for the model's next request, one line each; hidden where there is none."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._texts: list[str] = []
        self._show()

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._show()

    def remove_taken(self, record: "Record") -> None:
        from coder.core.state import remark_text

        if (text := remark_text(record.event)) in self._texts:
            self._texts.remove(text)
            self._show()

    def withdraw(self, log: "EventLog") -> str:
        """Remove and return the newest message that the log does not pass on; empty if there is none."""
        from coder.core.state import remark_text

        taken = [remark_text(record.event) for record in log.records]
        text = next((text for text in reversed(self._texts) if text not in taken), "")
        if text:
            self._texts.remove(text)
            self._show()
        return text

    def take_all(self) -> str:
        """Remove all and return them, one a line."""
        text = "\n".join(self._texts)
        self._texts.clear()
        self._show()
        return text

    def _show(self) -> None:
        self.display = bool(self._texts)
        lines = [f"queued: {shorten_line(sanitize_text(text), MOST_CHARACTERS)}" for text in self._texts]
        self.update("\n".join([*lines, "up takes the last one back"]))
