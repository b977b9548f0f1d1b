"""Textual application that starts sessions, forwards the user's input, and closes in order."""

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import TextArea

from coder.core.errors import CoderError, UserError
from coder.ui.tui.alerts import TerminalAlerts
from coder.ui.tui.commands import HELP, MODES, PromptCommand, help_lines, parse_command, suggest_command
from coder.ui.tui.conversation.queued_messages import QueuedMessages
from coder.ui.tui.running import (
    RecordedSession,
    RunningSession,
    SessionModel,
    StartSession,
    TrustQuestion,
    UserRequest,
)
from coder.ui.tui.screens.session import SessionScreen
from coder.ui.tui.service_commands import ServiceCommands
from coder.ui.tui.services import Services
from coder.ui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from coder.session.log import EventLog
    from coder.ui.tui.conversation.asking import QuestionQueue

DOUBLE_KEY_SECONDS = 1.0
MOST_RECORDS = 30
"""Newest records of a long session that are shown when it is opened: each costs about a millisecond."""


class CoderApp(App[None]):
    """Runs one session at a time, and shows each by following its log."""

    TITLE = "coder"
    CSS_PATH: ClassVar[list[str | PurePath] | None] = ["app.tcss", "screens/session.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop_or_rewind", "Stop, or rewind"),
        Binding("ctrl+g", "deliver_now", "Deliver now", priority=True),
        Binding("ctrl+c", "copy_or_quit", "Copy what is selected, or quit", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("f1", "help", "Commands and keys"),
    ]

    def __init__(
        self,
        start: StartSession,
        *,
        repository: str,
        model: Callable[[], SessionModel],
        services: Services | None = None,
        theme: str = "",
        has_alerts: bool = False,
        trust: TrustQuestion | None = None,
        initial_session: RunningSession | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open on `repository`, ready for an issue.

        `model` returns the model of sessions. It is called in a thread once the prompt is there, so it may be
        slow, load what sessions need, and raise CoderError. `theme` is the user's, if it still exists.
        `has_alerts` tells whether the terminal calls the user; `trust` is asked first.
        `initial_session` is shown from the start. `clock` counts seconds.
        """
        super().__init__()
        self._start = start
        self._model = model
        self._services = services or Services()
        self._wished_theme = theme
        self._trust = trust
        self._alerts = TerminalAlerts(
            self._write_to_terminal if has_alerts else lambda _: None, name=PurePath(repository).name
        )
        self._first = initial_session
        self._newest: EventLog | None = None
        """Log of the session that the next request continues."""
        self._chosen = SessionModel("?")
        self._main = SessionScreen(repository, clock=clock)
        self._commands = ServiceCommands(self, self._main, self._services, newest=lambda: self._newest)
        self._session: RunningSession | None = None
        self._queue = QueuedMessages(self._main)
        self._busy = False
        self._clock = clock
        self._escaped = -DOUBLE_KEY_SECONDS
        """Time at which esc was last pressed while nothing ran."""
        self._stopping = False
        self._quitting = False

    def get_default_screen(self) -> SessionScreen:
        return self._main

    def on_mount(self) -> None:
        if self._wished_theme in self.available_themes:
            self.theme = self._wished_theme
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self._alerts.start()
        self.call_after_refresh(self._prepare)

    def on_unmount(self) -> None:
        self._alerts.stop()

    def _write_to_terminal(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(text)

    def _remember_theme(self, theme: Theme) -> None:
        if self._services.settings is not None:
            self._services.settings.remember_theme(theme.name)

    def _prepare(self) -> None:
        """Start work that the first paint need not wait for."""
        if self._trust is not None:
            self.run_worker(self._ask_for_trust(self._trust))
        if self._first is not None:
            self.run_worker(self._show_first(self._first))
        self.run_worker(self._warm_up(), name="warm up")

    async def _ask_for_trust(self, trust: TrustQuestion) -> None:
        from coder.ui.tui.conversation.asking import ask_for_trust

        self._alerts.notify("an answer is needed")
        if not await ask_for_trust(self, trust):
            self.exit()
        self._alerts.show_state("")

    async def _warm_up(self) -> None:
        """Load completion, the model, and what shows a session, while the user reads or types."""
        if self._services.names is not None:
            await asyncio.to_thread(import_module, "coder.ui.tui.widgets.completion")
            await self._main.add_completion(self._services.names)
        await self._choose_model()
        await asyncio.to_thread(import_module, "coder.ui.tui.conversation.narrator")

    async def _choose_model(self) -> None:
        try:
            self._chosen = await asyncio.to_thread(self._model)
        except CoderError as error:
            self._main.warn(str(error))
        else:
            self._main.show_model(self._chosen)

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        command = parse_command(message.text)
        if command is not None:
            self._run_command(command, message.text)
        elif message.text.startswith("!"):
            self._run_command(PromptCommand("!", message.text[1:].strip()), message.text)
        elif not self._busy:
            self._request(message.text, message.mode)
        elif self._session is None or not self._chosen.name:
            self._main.suggest(message.text)
        else:
            from coder.core.commands import Say

            self._queue.add(message.text)
            self._session.send(Say(text=message.text))

    def on_prompt_recalled(self) -> None:
        """Take the newest queued message back into the prompt; show an earlier one if none is queued."""
        from coder.core.commands import Withdraw

        text = self._queue.withdraw(self._session.log) if self._session is not None else ""
        if self._session is not None and text:
            self._session.send(Withdraw(text=text))
            self._main.suggest(text)
        else:
            self._main.query_one(Prompt).recall_previous()

    def _run_command(self, command: PromptCommand, typed: str) -> None:
        """Carry out a command of the prompt; what cannot be done goes back into the prompt."""
        name, text = command
        is_request = name in MODES
        if name not in HELP and name != "!":
            self._refuse(suggest_command(name), typed)
        elif name == "help":
            self._main.show_lines(help_lines())
        elif name == "quit":
            self.run_worker(self.action_quit())
        elif name == "context":
            self._commands.show_context(self._session.log if self._session is not None else self._newest)
        elif self._busy:
            self._refuse(f"{typed.split()[0]} has to wait until this has ended; esc stops it.", typed)
        elif not text and (name == "!" or (is_request and name != "verify")):
            self._refuse(f"/{name} {HELP[name]}" if is_request else "! needs a command, such as !ls", typed)
        elif is_request:
            self._request(text, MODES[name])
        elif name == "new":
            self._newest = None
            self._main.reset()
        else:
            self._busy = True
            self.run_worker(self._resume(text or "last") if name == "resume" else self._carry_out(name, text))

    def _refuse(self, reason: str, typed: str) -> None:
        self._main.warn(reason)
        self._main.suggest(typed)

    def _request(self, text: str, mode: str) -> None:
        self._busy = True
        judges = mode == "verify"
        request = UserRequest(
            text,
            mode,
            "" if judges else self.session_id,
            () if judges else self._commands.take_outputs(),
        )
        self.run_worker(self._start_request(request))

    @property
    def newest_log(self) -> "EventLog | None":
        """Log of the newest session, which the next request continues."""
        return self._newest

    @property
    def session_id(self) -> str:
        """Id of the newest session, which the next request continues; empty if there is none."""
        from coder.core.state import session_status

        return session_status(self._newest.records[:1]).session if self._newest is not None else ""

    async def _carry_out(self, name: str, text: str) -> None:
        """Carry out a command that starts no session."""
        typed = f"! {text}" if name == "!" else f"/{name} {text}".strip()
        self._main.begin_command(typed)
        try:
            if name in ("rewind", "fork"):
                await self._go_back(text, forks=name == "fork")
            else:
                await self._commands.run(name, text)
            if name == "model" and text:
                await self._choose_model()
        except CoderError as error:
            self._main.warn(str(error))
        finally:
            self._end()

    async def _resume(self, session: str) -> None:
        try:
            if self._services.archive is None:
                raise UserError("This is the record of a session, nothing more.")
            log = await asyncio.to_thread(self._services.archive.load, session)
        except CoderError as error:
            self._main.warn(str(error))
            self._end()
        else:
            await self._show_first(RecordedSession(log))

    async def _go_back(self, text: str, *, forks: bool) -> None:
        """Go on from an earlier point of the conversation; ask for what `text` does not say."""
        from coder.ui.tui.conversation.rewinding import go_back

        point = await go_back(self, self._services.archive, self.session_id, text, forks=forks)
        if point is not None:
            self._newest, sentence = point
            self._main.show_lines(sentence.splitlines())
            self._suggest_interrupted_request()

    def _suggest_interrupted_request(self) -> None:
        """Offer to send the request of a session again that did not come to its end."""
        from coder.core.state import interrupted_task

        task = interrupted_task(self._newest.records) if self._newest is not None else None
        if task is not None:
            self._main.suggest(task.issue, mode="plan" if task.plan_only else task.mode)

    async def _start_request(self, request: UserRequest) -> None:
        judges = request.mode == "verify"
        self._main.begin("" if judges else request.text, has_listener=bool(self._chosen.name) and not judges)
        try:
            running = await self._start(request)
        except CoderError as error:
            self._main.warn(str(error))
            self._main.suggest(f"/verify {request.text}" if judges else request.text)
            self._end()
        else:
            # A verdict on the user's own change is nothing that requests go on from.
            await self._perform(running, can_continue=not judges)

    async def _show_first(self, running: RunningSession) -> None:
        self._busy = True
        self._main.begin(has_listener=bool(self._chosen.name))
        await self._perform(running)
        self._suggest_interrupted_request()

    async def _perform(self, running: RunningSession, *, can_continue: bool = True) -> None:
        """Run a session to its end, and show all of it."""
        from coder.core.state import newest_outcome
        from coder.ui.tui.conversation.asking import QuestionQueue

        self._session = running
        is_live = not isinstance(running, RecordedSession)
        asking = QuestionQueue(self, running.send, self._alerts.notify if is_live else lambda _: None)
        self._alerts.show_state("working")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(running.log, asking))
            if self._stopping:
                self._stop(running)
            await running.run()
        asking.close()
        if can_continue:
            self._newest = running.log
        self._end()
        if is_live:
            self._alerts.notify(newest_outcome(running.log.records))
        else:
            self._alerts.show_state("")

    async def _follow(self, log: "EventLog", asking: "QuestionQueue") -> None:
        start = 1
        if log.is_closed and len(log.records) > 2 * MOST_RECORDS:  # shown at once, and not as it goes
            start = len(log.records) - MOST_RECORDS
            self._main.show_record(log.records[0])
            self._main.skip_records(log.records[1 : start - 1])
        async for record in log.follow(start):
            self._main.show_record(record)
            self._queue.remove_taken(record.event)
            asking.handle_event(record.event)

    def _end(self) -> None:
        self._session = None
        self._busy = self._stopping = False
        self._main.end(mode="fix" if self._newest is None else "change")
        if text := self._queue.take_all():
            self._main.suggest(text)
        if self._quitting:
            self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield the palette's entries: Textual's own, and the prompt's commands without arguments."""
        yield from super().get_system_commands(screen)
        for name, text in HELP.items():
            if text[0].islower():  # arguments are in capitals
                run = partial(self._run_command, PromptCommand(name, ""), f"/{name}")
                yield SystemCommand(f"/{name}", text, run)

    def action_help(self) -> None:
        from coder.ui.tui.screens.help import HelpScreen

        self.push_screen(HelpScreen())

    def action_stop(self) -> None:
        """Stop the session; one that is still being opened stops as soon as it is open."""
        if self._busy and not self._stopping:
            self._stopping = True
            self._main.stop()
            self._commands.stop()
            if self._session is not None:
                self._stop(self._session)

    def action_stop_or_rewind(self) -> None:
        """Stop the session; while none runs, the second press in a row goes back in the conversation."""
        escaped, self._escaped = self._escaped, self._clock()
        if self._busy:
            self.action_stop()
        elif self._escaped - escaped < DOUBLE_KEY_SECONDS and self._newest is not None:
            self._escaped = -DOUBLE_KEY_SECONDS
            self._run_command(PromptCommand("rewind", ""), "")

    def action_deliver_now(self) -> None:
        """Have the change judged by the tests that have run so far."""
        if self._session is not None:
            from coder.core.commands import DeliverNow

            self._session.send(DeliverNow())

    def _stop(self, running: RunningSession) -> None:
        from coder.core.commands import Stop

        running.send(Stop())

    async def action_quit(self) -> None:
        """Quit once the session has ended in order; quit immediately if asked again."""
        if not self._busy or self._quitting:
            self.exit()
        self._quitting = True
        self.action_stop()

    async def action_copy_or_quit(self) -> None:
        """Copy the selection, as terminals do; without one, empty the prompt; quit if it is empty."""
        selection = self.screen.get_selected_text()
        if selection is None and isinstance(self.focused, TextArea):
            selection = self.focused.selected_text
        if selection:
            self.copy_to_clipboard(selection)
            self.screen.clear_selection()
        elif (prompt := self._main.query_one(Prompt)).text:
            prompt.put_away()
        else:
            await self.action_quit()
