import asyncio
from collections.abc import Awaitable, Callable

from coder.core.events import Event, Failed, MessageFinished, TextStreamed, ToolStarted
from coder.core.messages import AssistantMessage, UserMessage
from coder.ui.tui.widgets.reply import Reply
from coder.ui.tui.widgets.tool_call import CallFold
from coder.ui.tui.widgets.transcript import Transcript
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


def told(
    *events: Event, scene: Callable[[Stage], Awaitable[None]] | None = None, size: tuple[int, int] = (80, 40)
) -> str:
    """What the terminal shows after the events, and after what is done then."""

    async def scenario() -> str:
        async with stage(size=size) as shown:
            await shown.fix(story.STARTED, *events)
            if scene is not None:
                await scene(shown)
                await shown.settle()
            return shown.text

    return asyncio.run(scenario())


def above_the_status(screen: str) -> list[str]:
    return screen.splitlines()[:-4]


def said(text: str) -> MessageFinished:
    return MessageFinished(candidate="c1", message=AssistantMessage(text=text))


def streamed(text: str, candidate: str = "c1") -> list[Event]:
    return [TextStreamed(candidate=candidate, text=text[at : at + 5]) for at in range(0, len(text), 5)]


def test_what_was_streamed_stays_as_it_is_when_it_is_finished() -> None:
    async def scene(shown: Stage) -> None:
        reply, before = shown.app.screen.query_one(Reply), above_the_status(shown.text)
        shown.session.tell(said(story.SAID))
        await shown.settle()
        assert shown.app.screen.query_one(Reply) is reply
        assert above_the_status(shown.text) == before

    assert "- `hour % 24`" in told(*story.SPEAKING, scene=scene)


def test_a_reply_that_was_asked_for_again_is_shown_once() -> None:
    screen = told(*streamed("Half a thou"), *streamed("A whole thought."), said("A whole thought."))
    assert "A whole thought." in screen
    assert "Half a thou" not in screen


def test_a_reply_without_words_leaves_nothing() -> None:
    async def scene(shown: Stage) -> None:
        assert not shown.app.screen.query(Reply)

    told(*streamed("\n\n"), said(""), scene=scene)


def test_candidates_that_speak_at_once_are_kept_apart() -> None:
    both = zip(streamed("first candidate"), streamed("other candidate", "c2"), strict=True)
    screen = told(*(event for pair in both for event in pair))
    assert "first candidate" in screen
    assert "other candidate" in screen


def test_an_interrupted_reply_and_call_stay_as_far_as_they_came() -> None:
    screen = told(*streamed("I will now"), ToolStarted(candidate="c1", call=story.SEARCH), story.INTERRUPTED)
    assert "I will now" in screen
    assert [line.split() for line in screen.splitlines() if "▸ search" in line] == [
        ["▸", "search", "def", "add", "path=clock", "stopped"]
    ]


def test_a_call_unfolds_on_enter_and_on_a_click() -> None:
    async def by_enter(shown: Stage) -> None:
        await shown.pilot.press("shift+tab", "up", "enter")

    async def by_click(shown: Stage) -> None:
        await shown.pilot.click(shown.app.screen.query(CallFold).first())

    for scene in (by_enter, by_click):
        screen = told(*story.LOCATED[1:], scene=scene)
        assert "pattern: def add" in screen
        assert "7:def add(clock" in screen
    assert "7:def add(clock" not in told(*story.LOCATED[1:])


def test_an_unfolded_call_shows_its_output_when_it_comes() -> None:
    async def scene(shown: Stage) -> None:
        await shown.pilot.press("shift+tab", "enter")
        await shown.settle()
        assert "running" in shown.text
        shown.session.tell(story.answered(story.SEARCH, "clock/arithmetic.py:7"))

    screen = told(ToolStarted(candidate="c1", call=story.SEARCH), scene=scene)
    assert "clock/arithmetic.py:7" in screen
    assert "running" not in screen


def test_malformed_arguments_are_shown_as_they_are() -> None:
    call = story.SEARCH.model_copy(update={"arguments": '{"pattern": '})

    async def scene(shown: Stage) -> None:
        await shown.pilot.press("shift+tab", "enter")

    assert told(ToolStarted(candidate="c1", call=call), scene=scene).count('{"pattern":') == 2


def test_remarks_are_shown_as_the_model_gets_them() -> None:
    screen = told(MessageFinished(candidate="c1", message=UserMessage(text="The person adds: smaller")))
    assert "▸ told the model  The person adds: smaller" in screen


def test_the_newest_is_followed_until_the_person_scrolls_up() -> None:
    async def scene(shown: Stage) -> None:
        transcript = shown.app.screen.query_one(Transcript)
        assert transcript.scroll_y == transcript.max_scroll_y > 0
        await shown.pilot.press("pageup")
        await shown.settle()
        place = transcript.scroll_y
        shown.session.tell(*streamed("And on it goes.\n\n" * 9), Failed(error="it broke"))
        await shown.settle()
        assert transcript.scroll_y == place < transcript.max_scroll_y
        assert "it broke" not in shown.text
        await shown.pilot.press("ctrl+end")

    assert "it broke" in told(*story.LOCATED[1:], *story.SPEAKING, scene=scene, size=(80, 16))


def test_escape_sequences_of_others_never_reach_the_terminal() -> None:
    evil = "a\x1b[2J\x1b]0;owned\x07\x9b31mb\x08\x00c"
    call = story.call("search", pattern=evil)
    events: list[Event] = [
        said(evil),
        ToolStarted(candidate="c1", call=call),
        story.answered(call, evil),
        Failed(error=evil),
    ]

    async def scene(shown: Stage) -> None:
        await shown.pilot.press("shift+tab", "enter")

    screen = told(*events, scene=scene)
    assert not {character for character in screen if ord(character) < 32 or 127 <= ord(character) < 160} - {
        "\n"
    }
    assert "owned" not in screen
