"""Session that emits scripted events and records the user's commands."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf

from textual.events import Key
from textual.pilot import Pilot

from coder.core.errors import UserError
from coder.core.events import Event, SessionCommand, SessionStarted, Stop
from coder.session.log import EventLog
from coder.ui.tui.app import CoderApp
from coder.ui.tui.keys import PAUSE_SECONDS, Dialog
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.services import OpenedRepository, RecordedSession, RunningSession, SessionModel, UserRequest
from tests.session.fakes import ticking_clock
from tests.ui.tui.story import INTERRUPTED


@dataclass
class FakeSession:
    log: EventLog = field(default_factory=lambda: EventLog(clock=ticking_clock()))
    commands: list[SessionCommand] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    obedient: bool = True
    """Whether it ends when it is told to stop."""

    def send(self, command: SessionCommand) -> None:
        self.commands.append(command)
        if isinstance(command, Stop) and self.obedient:
            self.end(INTERRUPTED)

    async def run(self) -> None:
        await self.ended.wait()

    def tell(self, *events: Event) -> None:
        for event in events:
            self.log.append(event)

    def end(self, *events: Event) -> None:
        self.tell(*events)
        self.log.close()
        self.ended.set()


@dataclass
class FakeClock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Stage:
    """An application in a terminal of its own, and the session that it will start."""

    app: CoderApp
    pilot: Pilot[None]
    session: FakeSession
    requests: list[UserRequest]

    async def fix(self, *events: Event, issue: str = "a bug") -> None:
        """Send an issue and let the session emit its events."""
        await self.say(issue)
        self.session.tell(*events)
        await self.settle()

    async def say(self, text: str) -> None:
        """Send what a paste would put into the prompt."""
        self.app.screen.query_one(Prompt).text = text
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.pilot.press(*("space" if character == " " else character for character in text))

    def press_at_once(self, *keys: str) -> None:
        """Press keys as fast as a terminal sends them in one piece."""
        for key in keys:
            self.app.post_message(Key(key, {"enter": "\r", "space": " ", "ctrl+s": "\x13"}.get(key, key)))

    async def settle(self) -> None:
        """Wait until nothing changes any more."""
        before, same = self.text, 0
        while same < 3:
            await self.pilot.pause()  # until no message waits; then until none comes
            await self.pilot.pause(0.03)
            now = self.text
            before, same = now, same + 1 if now == before else 0

    async def wait_for_question(self, text: str = "") -> None:
        """Wait until a question that has appeared accepts keys and is laid out; with a text, until the
        question with that text is.
        """
        has_paused, before = False, ""
        for _ in range(200):
            await self.pilot.pause(0.05)
            screen = self.app.screen
            if isinstance(screen, Dialog) and screen.accepts_from < inf and not has_paused:
                has_paused = True
                self.pass_time(PAUSE_SECONDS + 9)  # more than keys wait on a busy machine
            shown = self.text
            if self.app.screen.is_modal and self.app.screen.focused and text in shown and shown == before:
                return
            before = shown
        raise AssertionError(self.text)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, unless the application has the clock of the machine."""
        if isinstance(self.app.clock, FakeClock):
            self.app.clock.seconds += seconds

    @property
    def is_closing(self) -> bool:
        """Return whether the application is about to end."""
        return self.app._exit  # There is no public attribute for it before it has ended.

    @property
    def text(self) -> str:
        """Return the text of the terminal, line by line."""
        return "\n".join(
            "".join(segment.text for segment in line).rstrip()
            for line in self.app.screen._compositor.render_strips()
        )


@asynccontextmanager
async def stage(app: CoderApp | None = None, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Stage]:
    session, requests = FakeSession(), list[UserRequest]()

    async def start(request: UserRequest) -> FakeSession:
        requests.append(request)
        return session

    app = app or CoderApp(
        start, repository="/home/ada/clock", model=lambda: SessionModel("acme:large"), clock=FakeClock()
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        for name in ("open", "warm up"):
            for worker in [worker for worker in app.workers if worker.name == name]:
                await worker.wait()
        yield Stage(app=app, pilot=pilot, session=session, requests=requests)


def replay_app(log: EventLog) -> CoderApp:
    """Return an application that shows a closed log, and starts nothing."""

    async def start(_: UserRequest) -> RunningSession:
        raise UserError("This is the record of a session, nothing more.")

    started = next((record.event for record in log.records if isinstance(record.event, SessionStarted)), None)
    repository, model = (started.repository, started.model) if started else ("", "")
    return CoderApp(
        start,
        repository=repository,
        model=lambda: SessionModel(model),
        open_repository=lambda: OpenedRepository(initial_session=RecordedSession(log)),
    )
