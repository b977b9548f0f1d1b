from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from coder.core.events import (
    Event,
    Failed,
    MessageFinished,
    QuestionAnswered,
    TextStreamed,
    ToolStarted,
)
from coder.core.values import AssistantMessage
from coder.core.verdict import VerdictKind
from coder.ui.tui.narrator import CallFold, ReplyView
from coder.ui.tui.transcript import Transcript
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


@asynccontextmanager
async def showing(*events: Event, size: tuple[int, int] = (80, 40)) -> AsyncIterator[Stage]:
    """Yield a terminal that shows a session with these events."""
    async with stage(size=size) as terminal:
        await terminal.fix(story.STARTED, *events)
        yield terminal


async def render_events(*events: Event) -> str:
    async with showing(*events) as terminal:
        return terminal.text


def above_the_status(screen: str) -> list[str]:
    return screen.splitlines()[:-4]


def finished_message(text: str) -> MessageFinished:
    return MessageFinished(candidate="c1", message=AssistantMessage(text=text))


def streamed_events(text: str, candidate: str = "c1") -> list[Event]:
    return [TextStreamed(candidate=candidate, text=text[at : at + 5]) for at in range(0, len(text), 5)]


async def test_streamed_text_stays_when_finished() -> None:
    async with showing(*story.SPEAKING) as terminal:
        reply, before = terminal.app.screen.query_one(ReplyView), above_the_status(terminal.text)
        await terminal.tell(finished_message(story.SAID))
        assert terminal.app.screen.query_one(ReplyView) is reply
        assert above_the_status(terminal.text) == before
        assert "- `hour % 24`" in terminal.text


async def test_shows_retried_reply_once_and_an_empty_one_not() -> None:
    whole, empty = "A whole thought.", [*streamed_events("\n\n"), finished_message("")]
    async with showing(
        *streamed_events("Half a thou"), *streamed_events(whole), finished_message(whole), *empty
    ) as terminal:
        assert whole in terminal.text
        assert "Half a thou" not in terminal.text
        assert len(terminal.app.screen.query(ReplyView)) == 1


async def test_question_is_shown_once_and_stays_above_its_answer() -> None:
    async with showing(story.QUESTION) as terminal:
        assert "Allow" in terminal.text
        assert not [*terminal.app.screen_stack[0].query(".question")]
        await terminal.tell(
            QuestionAnswered(question="q1", option="refuse", by="person", instruction="by hand")
        )
        lines = [line.strip() for line in terminal.text.splitlines()]
    (place,) = [place for place, line in enumerate(lines) if line.startswith("Allow run_command")]
    assert "refuse: by hand" in lines[place : place + 3]


async def test_keeps_partial_reply_and_call_when_interrupted() -> None:
    screen = await render_events(
        *streamed_events("I will now"), ToolStarted(candidate="c1", call=story.SEARCH), story.INTERRUPTED
    )
    assert "I will now" in screen
    assert [line.split() for line in screen.splitlines() if "▸ search" in line] == [
        ["▸", "search", "def", "add", "path=clock", "stopped"]
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["keys", "click"])
async def test_call_expands_on_enter_and_click(way: str) -> None:
    async with showing(*story.LOCATED[1:]) as terminal:
        assert "7:def add(clock" not in terminal.text
        if way == "keys":
            await terminal.pilot.press("shift+tab", "up", "up", "enter")
        else:
            await terminal.pilot.click(terminal.app.screen.query(CallFold).first())
        await terminal.settle()
        assert "pattern: def add" in terminal.text
        assert "7:def add(clock" in terminal.text


async def test_follows_newest_until_user_scrolls_up() -> None:
    async with showing(*story.LOCATED[1:], *story.SPEAKING, size=(80, 16)) as terminal:
        transcript = terminal.app.screen.query_one(Transcript)
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        await terminal.press("pageup")
        place = transcript.scroll_y
        await terminal.tell(*streamed_events("And on it goes.\n\n" * 9), Failed(error="it broke"))
        assert transcript.scroll_y == place < transcript.max_scroll_y
        assert "it broke" not in terminal.text
        await terminal.press("ctrl+end")
        assert "it broke" in terminal.text


async def test_foreign_escape_sequences_never_reach_terminal() -> None:
    evil = "a\x1b[2J\x1b]0;owned\x07\x9b31mb\x08\x00c"
    call = story.call("search", pattern=evil)
    events: list[Event] = [
        finished_message(evil),
        ToolStarted(candidate="c1", call=call),
        story.finished_call(call, evil),
        Failed(error=evil),
    ]
    async with showing(*events) as terminal:
        await terminal.press("shift+tab", "enter")
        controls = {character for character in terminal.text if not character.isprintable()} - {"\n"}
        assert (controls, "owned" in terminal.text) == (set(), False)


async def test_shows_verdict_once_and_outcome_that_differs_from_it() -> None:
    proven = await render_events(*story.REPAIRED, story.FINISHED)
    assert proven.count("PROVEN  1 test failed before and passes now") == 1
    assert "changed" in proven
    stopped = {"kind": VerdictKind.GAVE_UP, "summary": "The user stopped."}
    gave_up = await render_events(*story.REPAIRED, story.FINISHED.model_copy(update=stopped))
    assert "PROVEN  1 test failed" in gave_up and "GAVE UP  The user stopped." in gave_up
