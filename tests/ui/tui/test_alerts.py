import pytest

from coder.ui.tui.app import CoderApp
from coder.ui.tui.commands import OpenedRepository, TrustQuestion
from tests.ui.tui import story
from tests.ui.tui.fakes import FakeSession, services_that, stage


async def test_question_and_end_ring_the_bell(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[CoderApp] = []
    monkeypatch.setattr(CoderApp, "bell", lambda app: rung.append(app))
    session = FakeSession()
    async with stage(session=session) as terminal:
        await terminal.fix(story.STARTED, story.QUESTION)
        await terminal.wait_for_question()
        assert len(rung) == 1
        await terminal.pilot.press("n")
        session.end(story.FINISHED)
    assert len(rung) == 2


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
    async with stage(services=services_that(open=lambda: OpenedRepository(trust=trust))) as terminal:
        await terminal.wait_for_question("Trust this repository?")
        assert "go on in the sandbox" in terminal.text
        await terminal.press(key)
        assert terminal.is_closing == closes
    assert decisions == for_good
