"""Conversation of the interface: one request at a time, each continuing the newest session."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from coder.core.errors import CoderError, UserError
from coder.ui.tui.services import Overview, Services, SessionModel, UserRequest
from coder.ui.tui.session_screen import SessionScreen

if TYPE_CHECKING:
    from coder.core.events import Event, Record, SessionCommand
    from coder.session.log import EventLog, RunningSession
    from coder.ui.tui.asking import QuestionQueue

MOST_RECORDS = 30
"""Newest records of a long session that are shown when it is opened: each costs about a millisecond."""


class Conversation:
    """Starts sessions, shows each by following its log, and passes the user's words on to it."""

    def __init__(
        self,
        app: App[None],
        screen: SessionScreen,
        services: Services,
        *,
        alert: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        """Take `on_end`, called whenever the next request may come.

        `alert` calls the user where an answer is needed, and at the end.
        """
        self.is_open = asyncio.Event()
        """Set once the repository is open and the question of trust, if there is one, is answered."""
        self._app = app
        self._screen = screen
        self._services = services
        self._alert = alert
        self._on_end = on_end
        self._queue = QueuedMessages(screen)
        self._session: RunningSession | None = None
        self.newest: EventLog | None = None
        """Log of the newest session, which the next request continues."""
        self._stopping = False
        self.logs: list[EventLog] = []
        """Logs of the sessions that were run here, in order."""
        self.model = SessionModel("?")
        self.overview: Overview | None = None
        self.is_busy = False
        """True while a session is opened or runs, or a command of the prompt is carried out."""

    @property
    def current_log(self) -> "EventLog | None":
        """Log of the session that runs, else of the newest."""
        return self._session.log if self._session is not None else self.newest

    @property
    def _records(self) -> "Sequence[Record]":
        """Records of the newest session; empty if there is none."""
        return self.newest.records if self.newest is not None else ()

    @property
    def session_id(self) -> str:
        """Id of the newest session, which the next request continues; empty if there is none."""
        from coder.core.state import session_status

        return session_status(self._records[:1]).session

    @property
    def can_listen(self) -> bool:
        """True if a session runs whose model receives what the user says."""
        return self._session is not None and bool(self.model.name)

    def idle_facts(self) -> list[tuple[str, str]]:
        """Return what the status line shows while no session runs, each with a command on it."""
        from coder.core.state import newest_request_tokens, session_status
        from coder.core.values import UsageTotals
        from coder.ui.describe import abbreviate_number, format_money

        spent = UsageTotals()
        for log in self.logs:
            spent = spent.plus(session_status(log.records).spent)
        context = newest_request_tokens(self._records)
        return [
            *([(self.overview.branch, "/diff")] if self.overview is not None else []),
            *([(f"{abbreviate_number(context)} tokens of context", "/context")] if context else []),
            *([(format_money(spent), "/cost")] if spent.requests else []),
            *([(f"sandbox {self.overview.sandbox}", "/doctor")] if self.overview is not None else []),
        ]

    def say(self, text: str) -> None:
        """Queue a message for the next request of the session that runs."""
        from coder.core.events import Say

        self._queue.add(text)
        self.send(Say(text=text))

    def withdraw(self) -> str:
        """Take back the newest queued message and return it; empty if none is queued."""
        from coder.core.events import Withdraw

        text = self._queue.withdraw(self._session.log) if self._session is not None else ""
        if text:
            self.send(Withdraw(text=text))
        return text

    def send(self, command: "SessionCommand") -> None:
        if self._session is not None:
            self._session.send(command)

    def forget(self) -> None:
        """Let the next request continue nothing."""
        self.newest = None
        self._screen.reset()

    async def request(self, request: UserRequest) -> None:
        """Open a session for a request and run it; what cannot be opened goes back into the prompt."""
        judges = request.mode == "verify"
        has_listener = bool(self.model.name) and not judges
        self.is_busy = True
        self._screen.begin("" if judges else request.text, has_listener=has_listener)
        try:
            await self.wait_open()
            running = await self._services.start(request)
        except CoderError as error:
            self._screen.warn(str(error))
            self._screen.suggest(f"/verify {request.text}" if judges else request.text)
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
        self.is_busy = True
        self._screen.begin(has_listener=bool(self.model.name), is_recorded=True)
        await self._follow(log)
        self.newest = log
        self.end()
        self._suggest_interrupted_request()

    async def resume(self, session: str) -> None:
        """Show a recorded session; the next request continues it."""
        try:
            log = await asyncio.to_thread(self._services.load_session, session)
        except CoderError as error:
            self._screen.warn(str(error))
            self.end()
        else:
            await self.show(log)

    async def go_back(self, text: str) -> None:
        """Go on from an earlier point of the conversation; ask for what `text` does not say.

        Raises:
            CoderError: there is nothing to go back to.
        """
        from coder.ui.tui.asking import go_back

        point = await go_back(self._app, self._services, self.session_id, text)
        if point is not None:
            await self._screen.remove_requests(point.left)
            returning = f"To where you were: /resume {self.session_id}"
            self._screen.show_lines([*point.sentence.splitlines(), returning])
            self.newest = point.log
            self._suggest_interrupted_request()

    def stop(self) -> None:
        """Stop what runs; a session that is still being opened stops as soon as it is open."""
        if self.is_busy and not self._stopping:
            self._stopping = True
            self._screen.stop()
            self._send_stop()

    def end(self) -> None:
        """Be ready for the next request; queued messages go back into the prompt."""
        self._session = None
        self.is_busy = self._stopping = False
        self._screen.end(mode=self._next_mode())
        self._screen.show_idle(self.idle_facts())
        if text := self._queue.take_all():
            self._screen.suggest(text)
        self._on_end()

    def _next_mode(self) -> str:
        from coder.core.state import next_mode

        return next_mode(self._records)

    def _send_stop(self) -> None:
        from coder.core.events import Stop

        self.send(Stop())

    def _suggest_interrupted_request(self) -> None:
        from coder.core.state import interrupted_task

        if (task := interrupted_task(self._records)) is not None:
            self._screen.suggest(task.issue, mode=self._next_mode())

    async def _perform(self, running: "RunningSession", *, can_continue: bool) -> None:
        """Run a session to its end, and show all of it."""
        from coder.session.log import run_and_follow
        from coder.ui.tui.asking import QuestionQueue

        self._session = running
        asking = QuestionQueue(self._app, running.send, self._alert)
        self.logs.append(running.log)
        if self._stopping:
            self._send_stop()
        try:
            await run_and_follow(running, self._follow(running.log, asking))
        except CoderError as error:
            self._screen.warn(str(error))
        asking.close()
        if can_continue:
            self.newest = running.log
        self.end()
        self._alert()

    async def _follow(self, log: "EventLog", asking: "QuestionQueue | None" = None) -> None:
        """Show a log to its end; the questions of a recorded session are not `asking` any more."""
        start = 1
        if log.is_closed and len(log.records) > 2 * MOST_RECORDS:  # shown at once, and not as it goes
            start = len(log.records) - MOST_RECORDS
            self._screen.show_record(log.records[0])
            self._screen.skip_records(log.records[1 : start - 1])
        async for record in log.follow(start):
            self._screen.show_record(record)
            self._queue.remove_taken(record.event)
            if asking is not None:
                asking.handle_event(record.event)


class QueuedMessages:
    """Keeps them in their order, and shows them."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._screen.show_queue(self._texts)

    def remove_taken(self, event: "Event") -> None:
        from coder.core.state import remark_text

        if (text := remark_text(event)) in self._texts:
            self._texts.remove(text)
            self._screen.show_queue(self._texts)

    def withdraw(self, log: "EventLog") -> str:
        """Remove and return the newest message that the log does not pass on; empty if there is none."""
        from coder.core.state import remark_text

        taken = [remark_text(record.event) for record in log.records]
        text = next((text for text in reversed(self._texts) if text not in taken), "")
        if text:
            self._texts.remove(text)
            self._screen.show_queue(self._texts)
        return text

    def take_all(self) -> str:
        """Remove all and return them, one a line."""
        text = "\n".join(self._texts)
        if self._texts:
            self._texts.clear()
            self._screen.show_queue(())
        return text
