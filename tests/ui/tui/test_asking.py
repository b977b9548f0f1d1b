from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.events import Key

from coder.core.events import (
    PlanAnswered,
    QuestionAnswered,
    QuestionAsked,
    ReviewAnswered,
    Say,
)
from coder.core.notes import Step
from coder.core.values import HunkComment
from coder.ui.tui.keys import PAUSE_SECONDS, POLL_SECONDS
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


@asynccontextmanager
async def working(size: tuple[int, int] = (80, 24)) -> AsyncIterator[Stage]:
    """Yield a terminal in which a session is at work."""
    async with stage(size=size) as terminal:
        await terminal.fix(story.STARTED)
        yield terminal


def is_modal(terminal: Stage) -> bool:
    """Return whether a question is in front of everything."""
    return terminal.app.screen.is_modal


async def test_answers_question_with_chosen_option() -> None:
    answers = {
        ("up", "enter"): "allow",
        ("n",): "refuse",
        ("1",): "allow",
        ("3", "enter"): "refuse",
    }
    async with working() as terminal:
        for keys in answers:
            await terminal.ask(story.QUESTION.model_copy(update={"question": " ".join(keys)}))
            await terminal.pilot.press(*keys)
            await terminal.settle()
    assert terminal.session.commands == [
        QuestionAnswered(question=" ".join(keys), option=option) for keys, option in answers.items()
    ]


APPROVAL = story.QUESTION.model_copy(update={"takes_instruction": True})


async def test_refusal_says_what_to_do_instead() -> None:
    async with working() as terminal:
        terminal.session.tell(APPROVAL)
        await terminal.wait_for_question("no, do this instead: …")
        await terminal.pilot.press("down", "enter", "up", "down")
        await terminal.type("yes, by hand")
        await terminal.pilot.press("enter")
    assert terminal.session.commands == [
        QuestionAnswered(question="q1", option="refuse", instruction="yes, by hand")
    ]


async def test_y_answers_only_approvals_among_several_options() -> None:
    options = {True: "allow", False: "refuse"}
    async with working() as terminal:
        for takes_instruction in options:
            question = QuestionAsked(
                question=f"q{takes_instruction}",
                text="Which?",
                options=("allow", "always", "refuse"),
                default="refuse",
                takes_instruction=takes_instruction,
            )
            terminal.session.tell(question)
            await terminal.wait_for_question("y allow" if takes_instruction else "1-3")
            await terminal.pilot.press("y", "enter")
            await terminal.settle()
    assert terminal.session.commands == [
        QuestionAnswered(question=f"q{takes_instruction}", option=option)
        for takes_instruction, option in options.items()
    ]


async def test_marks_chosen_option_without_colors() -> None:
    async with working() as terminal:
        await terminal.ask(story.QUESTION)
        await terminal.settle()
        assert f"> {story.QUESTION.default}" in terminal.text
        await terminal.pilot.press("up")
        await terminal.settle()
        assert f"  {story.QUESTION.default}" in terminal.text
        assert terminal.text.count("> ") == 1


async def test_question_that_takes_any_answer_is_no_approval() -> None:
    question = QuestionAsked(
        question="q1", text="Which?", options=("6", "9", "neither"), default="neither", takes_instruction=True
    )
    async with working() as terminal:
        terminal.session.tell(question)
        await terminal.wait_for_question("another answer: …")
        assert "y 6" not in terminal.text
        assert "waiting for your answer" in terminal.text


async def test_answers_review_with_accepted_hunks() -> None:
    answers = {
        ("y", "n", "y", "enter"): (0, 2),
        ("r", "space", "a", "space", "enter"): (1, 2),
        ("f", "f", "n", "F", "n", "enter"): (1,),  # from file to file
    }
    async with working() as terminal:
        for keys in answers:
            await terminal.ask(story.REVIEW.model_copy(update={"question": " ".join(keys)}))
            await terminal.pilot.press(*keys)
            await terminal.settle()
    assert terminal.session.commands == [
        ReviewAnswered(question=" ".join(keys), accepted=hunks) for keys, hunks in answers.items()
    ]


@pytest.mark.thorough
async def test_review_describes_delivery_and_has_one_column_if_narrow() -> None:
    async with working() as terminal:
        terminal.session.tell(story.REVIEW)
        await terminal.wait_for_question("Review: enter delivers the whole fix")
        await terminal.pilot.press("n")
        await terminal.wait_for_question("Review: 2 of 3 hunks: enter verifies and delivers them")
        await terminal.pilot.press("r")
        await terminal.wait_for_question("Review: enter delivers nothing")
        await terminal.pilot.press("a")
        await terminal.wait_for_question("Review: enter delivers the whole fix")
        await terminal.pilot.resize_terminal(150, 40)
        await terminal.settle()
        await terminal.pilot.resize_terminal(80, 40)
        await terminal.settle()
        assert not [line for line in terminal.text.splitlines() if "if hour" in line and "HOURS" in line]
        await terminal.pilot.click("HunkChoice .title")  # turns the hunk
        await terminal.pilot.press("enter")
    assert terminal.session.commands == [ReviewAnswered(question="q1", accepted=(1, 2))]


@pytest.mark.thorough
async def test_comments_on_hunks_are_sent_with_the_decision() -> None:
    comment = HunkComment(hunk=0, text="one constant")
    async with working() as terminal:
        await terminal.ask(story.REVIEW)
        await terminal.pilot.press("c")
        await terminal.wait_for_question("What should the model change in clock/arithmetic.py?")
        await terminal.type("one constant")
        await terminal.pilot.press("enter")
        await terminal.wait_for_question("comment: one constant")
        await terminal.wait_for_question("Review: enter has the model work on 1 comment; then you review")
        await terminal.pilot.press("down", "c")
        await terminal.wait_for_question("What should the model change")
        await terminal.type("never mind")
        await terminal.press("escape")
        assert "never mind" not in terminal.text
        await terminal.pilot.press("enter")
    assert terminal.session.commands == [
        ReviewAnswered(question="q1", accepted=(0, 1, 2), comments=(comment,))
    ]


@pytest.mark.thorough
async def test_keys_typed_before_the_review_was_seen_do_not_act_on_it() -> None:
    async with working() as terminal:
        await terminal.ask(story.REVIEW)
        typed_before = 3600.0  # seconds; a busy application comes to handle them only now
        for letter in "/rewind 2":
            key = Key("space" if letter == " " else letter, letter)
            key.time -= typed_before
            terminal.app.post_message(key)
        await terminal.settle()
        assert terminal.prompt.text == "/rewind 2"
        assert len(terminal.app.screen_stack) == 2 and "[rejected]" not in terminal.text
        await terminal.wait_for_question()
        await terminal.pilot.press("enter")
    assert terminal.session.commands == [ReviewAnswered(question="q1", accepted=(0, 1, 2))]


@pytest.mark.thorough
async def test_slow_typing_goes_on_in_the_prompt() -> None:
    async with working() as terminal:
        prompt = terminal.prompt
        for question in (story.QUESTION, story.REVIEW, story.PLANNED):
            prompt.text = ""
            await terminal.type("how does it ")
            await terminal.tell(question)
            for letter in "apply n":
                terminal.pass_time(0.9 * PAUSE_SECONDS)
                await terminal.pilot.pause(2 * POLL_SECONDS)
                assert is_modal(terminal) and terminal.app.focused is None
                assert "… what you type" in terminal.text
                await terminal.type(letter)
            await terminal.wait_for_question()
            await terminal.settle()
            assert "… what you type" not in terminal.text
            assert prompt.text == "how does it apply n"
            await terminal.tell(QuestionAnswered(question=question.question, option="", by="default"))
            assert not is_modal(terminal)
    assert terminal.session.commands == []


async def test_refuses_plan() -> None:
    async with working() as terminal:
        terminal.session.tell(story.PLANNED)
        await terminal.wait_for_question("Plan: ctrl+s runs it as it is, 2 steps")
        await terminal.press("ctrl+r")
    assert terminal.session.commands == [PlanAnswered(question="q1", plan=None)]


async def test_runs_plan_as_edited() -> None:
    new_plan = story.PLAN.model_copy(update={"steps": (*story.PLAN.steps, Step(intent="and more"))})
    async with working() as terminal:
        await terminal.ask(story.PLANNED)
        await terminal.pilot.press(*["down"] * 7, "end", "enter")
        await terminal.type("and more")
        await terminal.wait_for_question("Not to be run yet: line 9 belongs to no step: 'and more'")
        await terminal.pilot.press("ctrl+s")
        assert is_modal(terminal)
        await terminal.pilot.press("home", "3", ".", "space")
        await terminal.wait_for_question("Plan: ctrl+s runs what you changed, 3 steps")
        await terminal.pilot.press("ctrl+s")
    assert terminal.session.commands == [PlanAnswered(question="q1", plan=new_plan)]


async def test_asks_questions_in_sequence_and_dismisses_those_answered_elsewhere() -> None:
    second = QuestionAsked(question="q2", text="And pip?", options=("allow", "refuse"), default="refuse")
    async with working() as terminal:
        terminal.session.tell(story.QUESTION, second)
        await terminal.wait_for_question("make generated")
        await terminal.pilot.press("up", "enter")
        await terminal.wait_for_question("And pip?")
        await terminal.press("enter")
        await terminal.tell(story.QUESTION.model_copy(update={"question": "q3"}))
        assert is_modal(terminal)
        await terminal.tell(QuestionAnswered(question="q3", option="refuse", by="default"))
        assert not is_modal(terminal)
        await terminal.say("go on")
    assert terminal.session.commands == [
        QuestionAnswered(question="q1", option="allow"),
        QuestionAnswered(question="q2", option="refuse"),
        Say(text="go on"),
    ]


async def test_escape_declines_and_does_not_stop_session() -> None:
    async with working() as terminal:
        for question in (story.QUESTION, story.REVIEW):
            await terminal.tell(question)
            terminal.pass_time(0.9 * PAUSE_SECONDS)
            await terminal.press("escape")
            assert "Interrupted" not in terminal.text
    assert terminal.session.commands == [
        QuestionAnswered(question="q1", option="refuse"),
        ReviewAnswered(question="q1", accepted=(0, 1, 2), refused=True),
    ]
