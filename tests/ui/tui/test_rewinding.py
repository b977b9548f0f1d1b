from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from coder.core.events import Restore
from coder.session.log import EventLog
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeServices, Stage, closed_log, stage


class FakeArchive(FakeServices):
    """Services with one conversation of two requests."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[str, int, str]] = []

    def load_session(self, session: str) -> EventLog:
        task = story.STARTED.task.model_copy(update={"issue": "the second"})
        started = story.STARTED.model_copy(update={"session": session, "task": task})
        return closed_log(started, story.INTERRUPTED)

    def list_requests(self, session: str) -> tuple[str, ...]:
        return ("the first", "the second")

    def go_back(self, session: str, request: int, restore: Restore) -> tuple[str, str]:
        self.points.append((session, request, restore))
        return "point", f"Back before request {request}."


@asynccontextmanager
async def finished_session(archive: FakeArchive) -> AsyncIterator[Stage]:
    async with stage(services=archive) as terminal:
        await terminal.say("the second")
        await terminal.end(story.STARTED, story.FINISHED)
        yield terminal


async def test_escape_twice_goes_back_and_offers_the_request_again() -> None:
    archive = FakeArchive()
    async with finished_session(archive) as terminal:
        await terminal.pilot.press("escape", "escape")
        await terminal.wait_for_question("Go back to before which request?")
        await terminal.pilot.press("2")
        await terminal.wait_for_question("What goes back to before request 2?")
        assert "y code" not in terminal.text
        await terminal.pilot.press("y", "1")
        await terminal.settle()
        assert "Back before request 2." in terminal.text
        assert f"/resume {story.STARTED.session}" in terminal.text
        assert terminal.prompt.text == "the second"
        await terminal.pilot.press("enter")
    assert archive.points == [(story.STARTED.session, 2, "both")]
    assert terminal.requests[-1].continues == "point"
