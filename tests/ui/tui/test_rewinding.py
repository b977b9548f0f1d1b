import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from coder.core.task import Restore
from coder.session.log import EventLog
from coder.ui.tui.app import CoderApp
from coder.ui.tui.prompt import Prompt
from coder.ui.tui.services import Services, SessionModel, UserRequest
from coder.ui.tui.transcript import IssueText
from tests.session.fakes import ticking_clock
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeClock, FakeSession, Stage, stage


@dataclass
class FakeArchive:
    """Archive of one conversation of two requests."""

    points: list[tuple[str, int, str]] = field(default_factory=list)

    def list(self) -> list[str]:
        return []

    def load(self, session: str) -> EventLog:
        log = EventLog(clock=ticking_clock())
        started = story.STARTED.model_copy(
            update={"session": session, "task": story.STARTED.task.model_copy(update={"issue": "the second"})}
        )
        log.append(started)
        log.append(story.INTERRUPTED)
        log.close()
        return log

    def requests(self, session: str) -> tuple[str, ...]:
        return ("the first", "the second")

    def go_back(self, session: str, request: int, restore: Restore) -> tuple[str, str]:
        self.points.append((session, request, restore))
        return "point", f"Back before request {request}."

    def apply(self, session: str) -> str:
        raise AssertionError

    def undo(self, session: str) -> str:
        raise AssertionError

    def costs(self, unit: str) -> tuple[str, ...]:
        raise AssertionError


def play(scene: Callable[[Stage], Awaitable[None]]) -> tuple[FakeArchive, list[UserRequest]]:
    archive, requests = FakeArchive(), list[UserRequest]()
    session = FakeSession()

    async def start(request: UserRequest) -> FakeSession:
        requests.append(request)
        return session

    app = CoderApp(
        start,
        repository="/r",
        model=lambda: SessionModel("acme:large"),
        services=Services(archive=archive),
        clock=FakeClock(),
    )

    async def scenario() -> None:
        async with stage(app) as terminal:
            await terminal.say("the second")
            session.end(story.STARTED, story.FINISHED)
            await terminal.settle()
            await scene(terminal)
            await terminal.settle()

    asyncio.run(scenario())
    return archive, requests


def test_escape_twice_goes_back_and_offers_the_request_again() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("escape", "escape")
        await terminal.wait_for_question("Go back to before which request?")
        await terminal.pilot.press("2")
        await terminal.wait_for_question("What goes back to before request 2?")
        assert "y code" not in terminal.text
        await terminal.pilot.press("y", "1")
        await terminal.settle()
        assert "Back before request 2." in terminal.text
        assert f"/resume {story.STARTED.session}" in terminal.text
        assert not terminal.app.screen.query(IssueText)
        assert terminal.app.screen.query_one(Prompt).text == "the second"
        await terminal.pilot.press("enter")

    archive, requests = play(scene)
    assert archive.points == [(story.STARTED.session, 2, "both")]
    assert requests[-1].continues == "point"


def test_rewinding_to_a_named_request_asks_for_the_part_alone() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("/rewind 1")
        await terminal.wait_for_question("What goes back to before request 1?")
        await terminal.pilot.press("up", "enter")
        await terminal.settle()
        assert len(terminal.app.screen.query(IssueText)) == 2  # as sent, and as the log has it

    assert play(scene)[0].points == [(story.STARTED.session, 1, "code")]


def test_staying_and_unknown_requests_change_nothing() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.say("/rewind")
        await terminal.wait_for_question()
        await terminal.pilot.press("escape")
        await terminal.settle()
        await terminal.say("/rewind 3")
        await terminal.settle()
        assert "There is no request 3: this conversation has 2." in terminal.text

    assert play(scene)[0].points == []
