"""Session that emits scripted events and records the user's commands."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any

from textual.events import Key
from textual.pilot import Pilot

from coder.core.errors import UserError
from coder.core.events import Event, Restore, SessionCommand, SessionStarted, Stop
from coder.session.log import EventLog, RunningSession
from coder.ui.tui.app import CoderApp
from coder.ui.tui.commands import OpenedRepository, SessionModel, UserRequest
from coder.ui.tui.keys import PAUSE_SECONDS, Dialog
from coder.ui.tui.prompt import Prompt
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


StartSession = Callable[[UserRequest], Coroutine[Any, Any, RunningSession]]


async def start_nothing(_: UserRequest) -> RunningSession:
    raise UserError("Nothing can be started here.")


class FakeServices:
    """Services of a repository without sessions, names and messages; tests override what they need.

    The user keeps one command as a file; one more lies in a repository that is not trusted.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.ran: list[str] = []
        self.messages: list[str] = []

        self.open: Callable[[], OpenedRepository] = OpenedRepository
        self.choose_model: Callable[[], SessionModel] = lambda: SessionModel("acme:large")
        self.start: StartSession = start_nothing

    def answer(self, command: str, text: str) -> Sequence[str]:
        match command, text:
            case "sessions", _:
                return []
            case "apply", _:
                return [f"Applied {text or 'last'}."]
            case "undo", _:
                raise UserError("There is nothing to take back.")
            case "cost", _:
                return [f"costs by {text or 'day'}"]
            case "doctor", _:
                return ["ok  sandbox      bubblewrap"]
            case "model", "":
                return ["* acme:large   200k tokens, $3 in and $15 out per million"]
            case _, "":
                return [f"{command}: {self.values.get(command, 'none')}"]
            case _, "nope":
                raise UserError("No provider is known for the model 'nope'.")
        self.values[command] = text
        return [f"From the next request on: {command} {text}"]

    def load_session(self, session: str) -> EventLog:
        raise UserError(f"No session named {session!r}.")

    def list_requests(self, session: str) -> Sequence[str]:
        return []

    def go_back(self, session: str, request: int, restore: Restore) -> tuple[str, str]:
        raise AssertionError

    def list_paths(self) -> Sequence[str]:
        return []

    def list_symbols(self) -> Sequence[str]:
        return []

    def find_objection(self, command: str) -> str:
        return ""

    def run_command(self, command: str, stop: threading.Event) -> str:
        self.ran.append(command)
        return f"output of {command}\n[exit code 0, 0.1 s]"

    def custom_commands(self) -> Mapping[str, str]:
        return {"explain": "NAME  explain a name", "undo": "never shadows coder's own"}

    def expand_command(self, name: str, words: str) -> tuple[str, str] | None:
        if name == "theirs":
            raise UserError("theirs is a command of this repository, which is not trusted.")
        return (f"What does {words} do?", "ask") if name == "explain" else None

    def read_messages(self) -> Sequence[str]:
        return tuple(self.messages)


def services_that(**methods: Callable[..., Any]) -> FakeServices:
    """Return services some methods of which are others."""
    services = FakeServices()
    for name, method in methods.items():
        setattr(services, name, method)
    return services


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
    draft: str = ""
    """The text that was left in the prompt at the end, unless a dialog was in front of it."""

    async def fix(self, *events: Event, issue: str = "a bug") -> None:
        """Send an issue and let the session emit its events."""
        self.prompt.text = issue
        await self.pilot.press("enter")
        await self.pilot.pause()
        await self.tell(*events)

    @property
    def prompt(self) -> Prompt:
        return self.app.screen_stack[0].query_one(Prompt)

    @property
    def texts(self) -> list[str]:
        """Return the texts of the requests."""
        return [request.text for request in self.requests]

    async def say(self, text: str) -> None:
        """Send what a paste would put into the prompt, and wait for what comes of it."""
        self.app.screen.query_one(Prompt).text = text
        await self.press("enter")

    async def press(self, *keys: str) -> None:
        """Press keys one after another, each on the screen that the one before has opened or left."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def tell(self, *events: Event) -> None:
        """Let the session emit events, and wait until they are shown."""
        self.session.tell(*events)
        await self.settle()

    async def ask(self, question: Event) -> None:
        """Let the session ask, and wait until the question accepts keys."""
        self.session.tell(question)
        await self.wait_for_question()

    async def end(self, *events: Event) -> None:
        """Let the session end with these events, and wait until they are shown."""
        self.session.end(*events)
        await self.settle()

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
async def stage(
    app: CoderApp | None = None,
    size: tuple[int, int] = (80, 24),
    *,
    session: FakeSession | None = None,
    start: StartSession | None = None,
    services: FakeServices | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """Run an application in a terminal of this size, and wait at the end until nothing changes any more.

    Unless `app` is given, it is made with these options, and each of its requests runs `session`.
    """
    running, requests = session or FakeSession(), list[UserRequest]()

    async def start_session(request: UserRequest) -> RunningSession:
        requests.append(request)
        return await start(request) if start else running

    services = services or FakeServices()
    services.start = start_session
    app = app or CoderApp(services, repository="/home/ada/clock", clock=FakeClock(), **options)
    app.animation_level = "none"
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        for name in ("open", "warm up"):
            for worker in [worker for worker in app.workers if worker.name == name]:
                await worker.wait()
        terminal = Stage(app=app, pilot=pilot, session=running, requests=requests)
        yield terminal
        await terminal.settle()
        terminal.draft = "" if app.screen.is_modal else terminal.prompt.text


def closed_log(*events: Event) -> EventLog:
    log = EventLog(clock=ticking_clock())
    for event in events:
        log.append(event)
    log.close()
    return log


def replay_app(log: EventLog) -> CoderApp:
    """Return an application that shows a closed log, and starts nothing."""
    started = next((record.event for record in log.records if isinstance(record.event, SessionStarted)), None)
    repository, model = (started.repository, started.model) if started else ("", "")
    services = services_that(
        choose_model=lambda: SessionModel(model), open=lambda: OpenedRepository(initial_log=log)
    )
    return CoderApp(services, repository=repository)
