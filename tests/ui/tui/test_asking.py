import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coder.core.commands import Amend, Answer, Decide, Say, Stop, Word
from coder.core.events import QuestionAnswered, QuestionAsked
from coder.core.notes import Plan, Step
from coder.ui.tui.widgets.prompt import Prompt
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


def received_commands(scene: Callable[[Stage], Awaitable[None]]) -> list[Word]:
    """Return the commands that a session receives in a scene."""

    async def scenario() -> list[Word]:
        async with stage() as shown:
            await shown.fix(*story.LOCATED)
            await scene(shown)
            await shown.settle()
            return shown.session.words

    return asyncio.run(scenario())


def is_modal(shown: Stage) -> bool:
    """Return whether a question is in front of everything."""
    return shown.app.screen.is_modal


@pytest.mark.parametrize(("keys", "option"), [(["enter"], "refuse"), (["up", "enter"], "allow")])
def test_answers_question_with_chosen_option(keys: list[str], option: str) -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.QUESTION)
        await shown.wait_for_question()
        await shown.pilot.press(*keys)

    assert received_commands(scene) == [Answer(question="q1", option=option)]


@pytest.mark.parametrize(
    ("keys", "accepted"),
    [
        (["enter"], (0, 1, 2)),
        (["n", "enter"], (1, 2)),
        (["y", "n", "y", "enter"], (0, 2)),
        (["r", "enter"], ()),
        (["r", "down", "y", "enter"], (1,)),
        (["r", "space", "a", "space", "enter"], (1, 2)),
    ],
)
def test_answers_review_with_accepted_hunks(keys: list[str], accepted: tuple[int, ...]) -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.REVIEW)
        await shown.wait_for_question()
        await shown.pilot.press(*keys)

    assert received_commands(scene) == [Decide(question="q1", accepted=accepted)]


def test_review_describes_delivery() -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.REVIEW)
        await shown.wait_for_question("Review: enter delivers the whole fix")
        await shown.pilot.press("n")
        await shown.wait_for_question("Review: 2 of 3 hunks: enter verifies them again, then delivers")
        await shown.pilot.press("r")
        await shown.wait_for_question("Review: enter delivers nothing")
        await shown.pilot.press("a")
        await shown.wait_for_question("Review: enter delivers the whole fix")

    assert received_commands(scene) == []


def test_click_on_title_toggles_hunk() -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.REVIEW)
        await shown.wait_for_question()
        await shown.pilot.click("HunkChoice .title")
        await shown.pilot.press("enter")

    assert received_commands(scene) == [Decide(question="q1", accepted=(1, 2))]


def test_prompt_keys_do_not_answer_question() -> None:
    async def scene(shown: Stage) -> None:
        await shown.type("wai")
        shown.session.tell(story.REVIEW)
        for _ in range(10_000):
            if is_modal(shown):
                break
            await asyncio.sleep(0)
        shown.press_at_once(
            "r", "n", "enter"
        )  # a pilot's presses take time, on a busy machine longer than the review is deaf
        assert is_modal(shown) and shown.app.focused is None
        await shown.wait_for_question()
        await shown.pilot.press("enter")
        await shown.settle()
        assert shown.app.screen.query_one(Prompt).text == "wai"

    assert received_commands(scene) == [Decide(question="q1", accepted=(0, 1, 2))]


@pytest.mark.parametrize(("keys", "plan"), [(["ctrl+s"], story.PLAN), (["ctrl+r"], None)])
def test_accepts_or_refuses_plan(keys: list[str], plan: Plan | None) -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.PLANNED)
        await shown.wait_for_question("Plan: ctrl+s runs it as it is, 2 steps")
        await shown.pilot.press(*keys)

    assert received_commands(scene) == [Amend(question="q1", plan=plan)]


def test_runs_plan_as_edited() -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.PLANNED)
        await shown.wait_for_question()
        await shown.pilot.press(*["down"] * 7, "end", "enter")
        await shown.type("and more")
        await shown.wait_for_question("Not to be run yet: line 9 belongs to no step: 'and more'")
        await shown.pilot.press("ctrl+s")
        assert is_modal(shown)
        await shown.pilot.press("home", "3", ".", "space")
        await shown.wait_for_question("Plan: ctrl+s runs what you changed, 3 steps")
        await shown.pilot.press("ctrl+s")

    edited = story.PLAN.model_copy(update={"steps": (*story.PLAN.steps, Step(intent="and more"))})
    assert received_commands(scene) == [Amend(question="q1", plan=edited)]


def test_accepts_plan_with_pending_input() -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.PLANNED)
        await shown.wait_for_question()
        shown.press_at_once("w", "a", "i", "t", "ctrl+s")

    (word,) = received_commands(scene)
    assert isinstance(word, Amend)
    assert word.plan is not None
    assert word.plan.summary == f"wait## The plan {story.PLAN.summary}"


def test_asks_questions_in_sequence() -> None:
    second = QuestionAsked(question="q2", text="And pip?", options=("allow", "refuse"), default="refuse")

    async def scene(shown: Stage) -> None:
        shown.session.tell(story.QUESTION, second)
        await shown.wait_for_question("make generated")
        await shown.pilot.press("up", "enter")
        await shown.wait_for_question("And pip?")
        await shown.pilot.press("enter")

    assert received_commands(scene) == [
        Answer(question="q1", option="allow"),
        Answer(question="q2", option="refuse"),
    ]


def test_dismisses_question_answered_elsewhere() -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(story.QUESTION)
        await shown.settle()
        assert is_modal(shown)
        shown.session.tell(QuestionAnswered(question="q1", option="refuse", by="default"))
        await shown.settle()
        assert not is_modal(shown)
        await shown.say("go on")

    assert received_commands(scene) == [Say(text="go on")]


@pytest.mark.parametrize("asked", [story.QUESTION, story.REVIEW, story.PLANNED])
def test_escape_stops_session_during_question(asked: QuestionAsked) -> None:
    async def scene(shown: Stage) -> None:
        shown.session.tell(asked)
        await shown.settle()
        await shown.pilot.press("escape")
        await shown.settle()
        assert "Interrupted" in shown.text

    assert received_commands(scene) == [Stop()]
