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
from coder.ui.tui.commands import HELP, MODES, PromptCommand, help_lines, parse_command, suggest_command
from coder.ui.tui.running import (
    RecordedSession,
    RepositoryNames,
    RunningSession,
    SessionArchive,
    SessionModel,
    StartSession,
    UserRequest,
)
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
        archive: SessionArchive | None = None,
        names: RepositoryNames | None = None,
        initial_session: RunningSession | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open on `repository`, ready for an issue.

        `model` returns the model of sessions. It is called in a thread once the prompt is there, so it may be
        slow, load what sessions need, and raise CoderError. `archive` has the sessions of the repository,
        `names` what a message can mention.
        `initial_session` is shown from the start. `clock` counts seconds.
        """
        super().__init__()
        self._start = start
        self._model = model
        self._archive = archive
        self._names = names
        self._first = initial_session
        self._newest: EventLog | None = None
        """Log of the session that the next request continues."""
        self._chosen = SessionModel("?")
        self._main = SessionScreen(repository, clock=clock)
        self._session: RunningSession | None = None
        self._unheard: list[str] = []
        """Remarks after the model's newest reply."""
        self._busy = False
        self._stopping = False
        self._quitting = False

    @classmethod
    def replay(cls, log: "EventLog") -> "CoderApp":
        """Show a recorded session from a closed log that was read from its store."""
        from coder.core.events import SessionStarted

        async def start(_: UserRequest) -> RunningSession:
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
            self.run_worker(self._show_first(self._first))
        self.run_worker(self._warm_up(), name="warm up")

    async def _warm_up(self) -> None:
        """Load completion, the model, and what shows a session, while the user reads or types."""
        if self._names is not None:
            await asyncio.to_thread(import_module, "coder.ui.tui.widgets.completion")
            await self._main.add_completion(self._names)
        try:
            self._chosen = await asyncio.to_thread(self._model)
        except CoderError as error:
            self._main.warn(str(error))
        else:
            self._main.show_model(self._chosen)
        await asyncio.to_thread(import_module, "coder.ui.tui.narrator")

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        command = parse_command(message.text)
        if command is not None:
            self._run_command(command, message.text)
        elif not self._busy:
            self._request(message.text, message.mode)
        elif self._session is None or not self._chosen.name:
            self._main.suggest(message.text)
        else:
            from coder.core.commands import Say

            self._unheard.append(message.text)
            self._session.send(Say(text=message.text))

    def _run_command(self, command: PromptCommand, typed: str) -> None:
        """Carry out a command of the prompt; what cannot be done goes back into the prompt."""
        name, text = command
        is_request = name in MODES
        if name not in HELP:
            self._refuse(suggest_command(name), typed)
        elif name == "help":
            self._main.show_lines(help_lines())
        elif name == "quit":
            self.run_worker(self.action_quit())
        elif self._busy:
            self._refuse(f"/{name} has to wait until this has ended; esc stops it.", typed)
        elif is_request and not text:
            self._refuse(f"/{name} {HELP[name]}", typed)
        elif is_request:
            self._request(text, MODES[name])
        elif name == "new":
            self._newest = None
            self._main.reset()
        else:
            self._busy = True
            self.run_worker(self._use_archive(name, text))

    def _refuse(self, reason: str, typed: str) -> None:
        self._main.warn(reason)
        self._main.suggest(typed)

    def _request(self, text: str, mode: str) -> None:
        self._busy = True
        self.run_worker(self._start_request(UserRequest(text, mode, self.session_id)))

    @property
    def session_id(self) -> str:
        """Id of the newest session, which the next request continues; empty if there is none."""
        from coder.core.state import session_status

        return session_status(self._newest.records[:1]).session if self._newest is not None else ""

    async def _use_archive(self, name: str, text: str) -> None:
        """Carry out a command on stored sessions."""
        try:
            if name == "diff":
                self._show_diff()
            elif self._archive is None:
                raise UserError("This is the record of a session, nothing more.")
            elif name == "sessions":
                self._main.show_lines(await asyncio.to_thread(self._archive.list))
            elif name == "resume":
                await self._show(RecordedSession(await asyncio.to_thread(self._archive.load, text or "last")))
                self._suggest_interrupted_request()
            else:
                act = self._archive.apply if name == "apply" else self._archive.undo
                self._main.show_lines([await asyncio.to_thread(act, text or "last")])
        except CoderError as error:
            self._main.warn(str(error))
        finally:
            self._busy = False

    def _suggest_interrupted_request(self) -> None:
        """Offer to send the request of a session again that did not come to its end."""
        from coder.core.state import interrupted_task

        task = interrupted_task(self._newest.records) if self._newest is not None else None
        if task is not None:
            self._main.suggest(task.issue, mode="plan" if task.plan_only else task.mode)

    def _show_diff(self) -> None:
        from coder.core.state import delivered_diff

        diff = delivered_diff(self._newest.records) if self._newest is not None else ""
        if not diff:
            raise UserError("Nothing has been changed yet.")
        self._main.show_diff(diff)

    async def _start_request(self, request: UserRequest) -> None:
        self._main.begin(request.text, has_listener=bool(self._chosen.name))
        try:
            running = await self._start(request)
        except CoderError as error:
            self._main.warn(str(error))
            self._main.suggest(request.text)
            self._end()
        else:
            await self._perform(running)

    async def _show_first(self, running: RunningSession) -> None:
        await self._show(running)
        self._suggest_interrupted_request()

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
        self._newest = running.log
        self._end()

    async def _follow(self, log: "EventLog", asking: "QuestionQueue") -> None:
        async for record in log.follow():
            self._main.show_record(record)
            if getattr(getattr(record.event, "message", None), "role", "") == "assistant":
                self._unheard.clear()
            asking.handle_event(record.event)

    def _end(self) -> None:
        self._session = None
        self._busy = self._stopping = False
        self._main.end(mode="fix" if self._newest is None else "change")
        if self._unheard:
            self._main.suggest("\n".join(self._unheard))
            self._unheard.clear()
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
