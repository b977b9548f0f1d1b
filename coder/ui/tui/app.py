"""Textual application that starts sessions, forwards the user's input, and closes in order."""

import asyncio
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from coder.core.errors import CoderError, UserError
from coder.ui.tui.running import RecordedSession, RunningSession, SessionModel, StartSession
from coder.ui.tui.screens.session import SessionScreen
from coder.ui.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from coder.session.log import EventLog
    from coder.ui.tui.asking import QuestionQueue


class CoderApp(App[None]):
    """Runs one session at a time, and shows each by following its log."""

    TITLE = "coder"
    CSS_PATH: ClassVar[list[str | PurePath] | None] = ["app.tcss", "screens/session.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop the session"),
        Binding("ctrl+g", "deliver_now", "Deliver now", priority=True),
        Binding("ctrl+c", "copy_or_quit", "Copy what is selected, or quit", priority=True),
        Binding("ctrl+q", "quit", "Quit", priority=True),
    ]

    def __init__(
        self,
        start: StartSession,
        *,
        repository: str,
        model: Callable[[], SessionModel],
        initial_session: RunningSession | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open on `repository`, ready for an issue.

        `model` returns the model of sessions. It is called in a thread once the prompt is there, so it may be
        slow, load what sessions need, and raise CoderError. `first` is a session to show from the start.
        `clock` counts seconds.
        """
        super().__init__()
        self._start = start
        self._model = model
        self._first = initial_session
        self._chosen = SessionModel("?")
        self._main = SessionScreen(repository, clock=clock)
        self._session: RunningSession | None = None
        self._busy = False
        self._stopping = False
        self._quitting = False

    @classmethod
    def replay(cls, log: "EventLog") -> "CoderApp":
        """Show a recorded session from a closed log that was read from its store."""
        from coder.core.events import SessionStarted

        async def start(_: str) -> RunningSession:
            raise UserError(
                "This is the record of a session, nothing more. To work on an issue, start coder in its "
                "repository."
            )

        start_event = next(
            (record.event for record in log.records if isinstance(record.event, SessionStarted)), None
        )
        repository, model = (start_event.repository, start_event.model) if start_event else ("", "")
        return cls(
            start,
            repository=repository,
            model=lambda: SessionModel(model),
            initial_session=RecordedSession(log),
        )

    def get_default_screen(self) -> SessionScreen:
        return self._main

    def on_mount(self) -> None:
        self.call_after_refresh(self._prepare)

    def _prepare(self) -> None:
        """Start work that the first paint need not wait for."""
        if self._first is not None:
            self.run_worker(self._show(self._first))
        self.run_worker(self._warm_up(), name="warm up")

    async def _warm_up(self) -> None:
        """Show the model, then import what shows a session, while the user reads or types."""
        try:
            self._chosen = await asyncio.to_thread(self._model)
        except CoderError as error:
            self._main.warn(str(error))
        else:
            self._main.show_model(self._chosen)
        await asyncio.to_thread(import_module, "coder.ui.tui.narrator")

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        if not self._busy:
            self._busy = True
            self.run_worker(self._fix(message.text))
        elif self._session is None or not self._chosen.name:
            self._main.suggest(message.text)
        else:
            from coder.core.commands import Say

            self._session.send(Say(text=message.text))

    async def _fix(self, issue: str) -> None:
        self._main.begin(issue, has_listener=bool(self._chosen.name))
        try:
            running = await self._start(issue)
        except CoderError as error:
            self._main.warn(str(error))
            self._main.suggest(issue)
            self._end()
        else:
            await self._perform(running)

    async def _show(self, running: RunningSession) -> None:
        self._busy = True
        self._main.begin(has_listener=bool(self._chosen.name))
        await self._perform(running)

    async def _perform(self, running: RunningSession) -> None:
        """Run a session to its end, and show all of it."""
        from coder.ui.tui.asking import QuestionQueue

        self._session = running
        asking = QuestionQueue(self, running.send)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(running.log, asking))
            if self._stopping:
                self._stop(running)
            await running.run()
        asking.close()
        self._end()

    async def _follow(self, log: "EventLog", asking: "QuestionQueue") -> None:
        async for record in log.follow():
            self._main.show_record(record)
            asking.handle_event(record.event)

    def _end(self) -> None:
        self._session = None
        self._busy = self._stopping = False
        self._main.end()
        if self._quitting:
            self.exit()

    def action_stop(self) -> None:
        """Stop the session; one that is still being opened stops as soon as it is open."""
        if self._busy and not self._stopping:
            self._stopping = True
            self._main.stop()
            if self._session is not None:
                self._stop(self._session)

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
        """Copy the selection, as terminals do; quit if nothing is selected."""
        selection = self.screen.get_selected_text()
        if selection is None and isinstance(self.focused, TextArea):
            selection = self.focused.selected_text
        if selection:
            self.copy_to_clipboard(selection)
            self.screen.clear_selection()
        else:
            await self.action_quit()
