"""Pictures of the tutorial: a recorded session of the demo, drawn by the interface."""

import asyncio
from pathlib import Path

import pytest

from coder.core.events import SessionStarted, Verified
from coder.store.jsonl import read_records
from coder.ui.tui.app import CoderApp
from coder.ui.tui.services import SessionModel, UserRequest
from tests.builders import by_hand
from tests.ui.tui.fakes import FakeClock, FakeSession, Stage, services_that, stage
from tests.ui.tui.pictures import check_picture

PICTURES = Path(__file__).parents[2] / "docs" / "tutorial"
EVENTS = [record.event for record in read_records(Path(__file__).parent / "demo_session")]
ISSUE = next(event.task.issue for event in EVENTS if isinstance(event, SessionStarted))
SEARCHED = next(number for number, event in enumerate(EVENTS) if isinstance(event, Verified))


@pytest.mark.parametrize(
    ("name", "count"), [("proven", len(EVENTS)), *by_hand(("start", 0), ("searching", SEARCHED))]
)
def test_picture_is_current(name: str, count: int, tmp_path: Path) -> None:
    session = FakeSession()

    async def start(_: UserRequest) -> FakeSession:
        return session

    async def show(terminal: Stage) -> None:
        if count:
            await terminal.say(ISSUE)
            session.tell(*EVENTS[:count])
        if count == len(EVENTS):
            session.end()
        await terminal.settle()
        check_picture(terminal, name, tmp_path, PICTURES)

    async def scenario() -> None:
        app = CoderApp(
            services_that(start=start, choose_model=lambda: SessionModel("no model")),
            repository="/tmp/coder-demo-k3v9x1/worklog",
            clock=FakeClock(),
        )
        async with stage(app, size=(100, 30)) as terminal:
            app.theme = "textual-dark"
            await show(terminal)

    asyncio.run(scenario())
