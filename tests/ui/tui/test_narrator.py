import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coder.core.events import (
    Event,
    Failed,
    MessageFinished,
    PhaseEntered,
    QuestionAnswered,
    SessionFinished,
    StageChanged,
    TextStreamed,
    ToolStarted,
)
from coder.core.messages import AssistantMessage, UserMessage
from coder.core.phases import StageState
from coder.core.verdict import VerdictKind
from coder.ui.tui.narrator import CallFold, ReplyView
from coder.ui.tui.transcript import Transcript
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


def render_events(
    *events: Event, scene: Callable[[Stage], Awaitable[None]] | None = None, size: tuple[int, int] = (80, 40)
) -> str:
    """Return the terminal's text after the events, and after the actions that follow."""

    async def scenario() -> str:
        async with stage(size=size) as terminal:
            await terminal.fix(story.STARTED, *events)
            if scene is not None:
                await scene(terminal)
                await terminal.settle()
            return terminal.text

    return asyncio.run(scenario())


def above_the_status(screen: str) -> list[str]:
    return screen.splitlines()[:-4]


def finished_message(text: str) -> MessageFinished:
    return MessageFinished(candidate="c1", message=AssistantMessage(text=text))


def streamed_events(text: str, candidate: str = "c1") -> list[Event]:
    return [TextStreamed(candidate=candidate, text=text[at : at + 5]) for at in range(0, len(text), 5)]


def test_streamed_text_stays_when_finished() -> None:
    async def scene(terminal: Stage) -> None:
        reply, before = terminal.app.screen.query_one(ReplyView), above_the_status(terminal.text)
        terminal.session.tell(finished_message(story.SAID))
        await terminal.settle()
        assert terminal.app.screen.query_one(ReplyView) is reply
        assert above_the_status(terminal.text) == before

    assert "- `hour % 24`" in render_events(*story.SPEAKING, scene=scene)


def test_answer_is_rendered_once_when_it_is_complete() -> None:
    answer = "# Why\n\nBecause `add` is **wrong**:\n\n- one\n- two"
    screen = render_events(
        PhaseEntered(candidate="c1", phase="answer", attempt=1),
        *streamed_events(answer),
        finished_message(answer),
        SessionFinished(kind=None, summary="Nothing was changed.", report=answer, exit_code=0),
    )
    assert screen.count("Because add is wrong:") == 1
    assert "**" not in screen and "• one" in screen


def test_shows_retried_reply_once() -> None:
    screen = render_events(
        *streamed_events("Half a thou"),
        *streamed_events("A whole thought."),
        finished_message("A whole thought."),
    )
    assert "A whole thought." in screen
    assert "Half a thou" not in screen


def test_question_is_shown_once_and_stays_above_its_answer() -> None:
    async def scene(terminal: Stage) -> None:
        assert "Allow" in terminal.text
        assert not [line for line in terminal.app.screen_stack[0].query(".question")]
        terminal.session.tell(
            QuestionAnswered(question="q1", option="refuse", by="person", instruction="by hand")
        )
        await terminal.settle()

    lines = [line.strip() for line in render_events(story.QUESTION, scene=scene).splitlines()]
    (place,) = [place for place, line in enumerate(lines) if line.startswith("Allow run_command")]
    assert "refuse: by hand" in lines[place : place + 3]


def test_refused_call_is_not_shown_as_failed() -> None:
    finished = story.finished_call(story.READ, "read was not allowed.", ok=False, seconds=0.0)
    screen = render_events(
        ToolStarted(candidate="c1", call=story.READ), finished.model_copy(update={"refused": True})
    )
    assert "refused" in screen
    assert "failed" not in screen


def test_empty_reply_shows_nothing() -> None:
    async def scene(terminal: Stage) -> None:
        assert not terminal.app.screen.query(ReplyView)

    render_events(*streamed_events("\n\n"), finished_message(""), scene=scene)


def test_separates_concurrent_candidates() -> None:
    both = zip(streamed_events("first candidate"), streamed_events("other candidate", "c2"), strict=True)
    screen = render_events(*(event for pair in both for event in pair))
    assert "first candidate" in screen
    assert "other candidate" in screen


def test_keeps_partial_reply_and_call_when_interrupted() -> None:
    screen = render_events(
        *streamed_events("I will now"), ToolStarted(candidate="c1", call=story.SEARCH), story.INTERRUPTED
    )
    assert "I will now" in screen
    assert [line.split() for line in screen.splitlines() if "▸ search" in line] == [
        ["▸", "search", "def", "add", "path=clock", "stopped"]
    ]


@pytest.mark.thorough
def test_call_expands_on_enter_and_click() -> None:
    async def by_enter(terminal: Stage) -> None:
        await terminal.pilot.press("shift+tab", "up", "up", "enter")

    async def by_click(terminal: Stage) -> None:
        await terminal.pilot.click(terminal.app.screen.query(CallFold).first())

    for scene in (by_enter, by_click):
        screen = render_events(*story.LOCATED[1:], scene=scene)
        assert "pattern: def add" in screen
        assert "7:def add(clock" in screen
    assert "7:def add(clock" not in render_events(*story.LOCATED[1:])


def test_expanded_call_shows_output_on_arrival() -> None:
    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("shift+tab", "enter")
        await terminal.settle()
        assert "running" in terminal.text
        terminal.session.tell(story.finished_call(story.SEARCH, "clock/arithmetic.py:7"))

    screen = render_events(ToolStarted(candidate="c1", call=story.SEARCH), scene=scene)
    assert "clock/arithmetic.py:7" in screen
    assert "running" not in screen


def test_shows_malformed_arguments_verbatim() -> None:
    call = story.SEARCH.model_copy(update={"arguments": '{"pattern": '})

    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("shift+tab", "enter")

    assert render_events(ToolStarted(candidate="c1", call=call), scene=scene).count('{"pattern":') == 2


def test_shows_remarks_as_sent_to_model() -> None:
    screen = render_events(
        MessageFinished(candidate="c1", message=UserMessage(text="The person adds: smaller"))
    )
    assert "▸ sent to the model  The person adds: smaller" in screen


def test_follows_newest_until_user_scrolls_up() -> None:
    async def scene(terminal: Stage) -> None:
        transcript = terminal.app.screen.query_one(Transcript)
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        await terminal.pilot.press("pageup")
        await terminal.settle()
        place = transcript.scroll_y
        terminal.session.tell(*streamed_events("And on it goes.\n\n" * 9), Failed(error="it broke"))
        await terminal.settle()
        assert transcript.scroll_y == place < transcript.max_scroll_y
        assert "it broke" not in terminal.text
        await terminal.pilot.press("ctrl+end")

    assert "it broke" in render_events(*story.LOCATED[1:], *story.SPEAKING, scene=scene, size=(80, 16))


def test_foreign_escape_sequences_never_reach_terminal() -> None:
    evil = "a\x1b[2J\x1b]0;owned\x07\x9b31mb\x08\x00c"
    call = story.call("search", pattern=evil)
    events: list[Event] = [
        finished_message(evil),
        ToolStarted(candidate="c1", call=call),
        story.finished_call(call, evil),
        Failed(error=evil),
    ]

    async def scene(terminal: Stage) -> None:
        await terminal.pilot.press("shift+tab", "enter")

    screen = render_events(*events, scene=scene)
    assert not {character for character in screen if ord(character) < 32 or 127 <= ord(character) < 160} - {
        "\n"
    }
    assert "owned" not in screen


def test_stage_of_a_build_is_updated_in_place() -> None:
    def change(component: str, state: StageState, remark: str = "") -> StageChanged:
        return StageChanged(stage="GENERATE", component=component, state=state, remark=remark)

    running = [change("", "running"), change("words", "running"), change("counts", "running")]
    screen = render_events(*running, change("counts", "done"), change("words", "failed", "It broke off."))
    assert [line.strip() for line in screen.splitlines() if "GENERATE" in line] == [
        "GENERATE …  words ✗  counts ✓  It broke off."
    ]


def test_shows_verdict_once() -> None:
    shown = render_events(*story.REPAIRED, story.FINISHED)
    assert shown.count("PROVEN  1 test failed before and passes now") == 1
    assert "changed" in shown


def test_shows_outcome_that_differs_from_the_verdict_above() -> None:
    gave_up = story.FINISHED.model_copy(update={"kind": VerdictKind.GAVE_UP, "summary": "The user stopped."})
    shown = render_events(*story.REPAIRED, gave_up)
    assert ("PROVEN  1 test failed" in shown, "GAVE UP  The user stopped." in shown) == (True, True)
