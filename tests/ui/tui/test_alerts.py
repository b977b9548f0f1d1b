from pathlib import Path, PurePath
from typing import ClassVar

import pytest

from coder.ui.tui import app
from coder.ui.tui.app import CoderApp
from coder.ui.tui.services import OpenedRepository, SessionModel, TrustQuestion, UserRequest
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeServices, FakeSession, stage


class LoudApp(CoderApp):
    """Application that keeps what it sends to the terminal by itself."""

    CSS_PATH: ClassVar[list[str | PurePath] | None] = [
        Path(app.__file__).with_name("app.tcss"),
        Path(app.__file__).with_name("session.tcss"),
    ]

    def __init__(self, session: FakeSession) -> None:
        self.sent: list[str] = []

        async def start(_: UserRequest) -> FakeSession:
            return session

        super().__init__(
            start,
            repository="/home/ada/clock",
            services=FakeServices(),
            model=lambda: SessionModel("acme:large"),
            open_repository=lambda: OpenedRepository(has_alerts=True),
        )

    def _write_to_terminal(self, text: str) -> None:
        self.sent.append(text)


async def test_question_and_end_call_the_user() -> None:
    session = FakeSession()
    app = LoudApp(session)
    async with stage(app, session=session) as terminal:
        await terminal.fix(story.STARTED, story.QUESTION)
        await terminal.wait_for_question()
        await terminal.pilot.press("n")
        session.end(story.FINISHED)
    assert app.sent == [
        "\x1b[22;2t",
        "\x1b]2;coder - clock\x07",
        "\x1b]2;working - coder - clock\x07",
        "\x07\x1b]9;coder: an answer is needed\x07",
        "\x1b]2;an answer is needed - coder - clock\x07",
        "\x07\x1b]9;coder: PROVEN\x07",
        "\x1b]2;PROVEN - coder - clock\x07",
        "\x1b[23;2t",
    ]


@pytest.mark.parametrize(
    ("key", "can_decline", "for_good", "closes"),
    [
        ("1", True, [False], False),
        ("2", True, [True], False),
        pytest.param("n", True, [], False, marks=pytest.mark.thorough),
        ("escape", False, [], True),
    ],
)
async def test_asks_for_trust_before_anything_else(
    key: str, can_decline: bool, for_good: list[bool], closes: bool
) -> None:
    decisions: list[bool] = []
    question = "Its tests run here. Trust this repository?"
    trust = TrustQuestion(question, "", "go on in the sandbox", can_decline, decisions.append)
    async with stage(open_repository=lambda: OpenedRepository(trust=trust)) as terminal:
        await terminal.wait_for_question("Trust this repository?")
        assert "go on in the sandbox" in terminal.text
        await terminal.press(key)
        assert terminal.is_closing == closes
    assert decisions == for_good
