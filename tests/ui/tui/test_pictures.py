import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from coder.core.events import MessageFinished, PhaseEntered, SessionFinished
from coder.core.messages import AssistantMessage
from coder.session.log import EventLog
from coder.ui.tui.app import CoderApp
from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.services import Services, SessionModel, UserRequest
from tests.session.fakes import ticking_clock
from tests.ui.tui import pictures, story
from tests.ui.tui.fakes import FakeSession, Stage, replay_app, stage
from tests.ui.tui.test_completion import Names

LIGHT, DARK, ANSI = "textual-light", "textual-dark", "ansi-dark"


async def start(stage: Stage) -> None:
    await stage.settle()


async def typed(stage: Stage) -> None:
    await stage.type("It wraps:")
    await stage.pilot.press("ctrl+j")
    await stage.type("49 h is 48:00")


async def streaming(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.SPEAKING, issue=story.ISSUE)


async def unfolded(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.SPEAKING, *story.PATCHED, issue=story.ISSUE)
    await stage.pilot.press("shift+tab", "enter")


async def verified(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.PATCHED, *story.REPAIRED, issue=story.ISSUE)


async def question(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.QUESTION, issue=story.ISSUE)
    await stage.wait_for_question("· 20 s")  # the pause before it takes keys


async def review(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.REVIEW, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press("y", "n")


async def review_lines(stage: Stage) -> None:
    await review(stage)
    for key in ("up", "l", "space"):
        await stage.pilot.press(key)
        await stage.settle()


async def review_text(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.REVIEW, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press("e")
    await stage.settle()
    await stage.pilot.press(*["down"] * 3, "end", "enter")
    await stage.type("# a day")


async def review_edited(stage: Stage) -> None:
    await review_text(stage)
    await stage.pilot.press("ctrl+s")
    await stage.settle()


async def review_files(stage: Stage) -> None:
    await review_edited(stage)
    for key in ("t", "down"):
        await stage.pilot.press(key)
        await stage.settle()


async def plan(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.PLANNED, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press(*["down"] * 12, "end", "enter")
    await stage.type("and more")


async def finished(stage: Stage) -> None:
    await verified(stage)
    stage.session.end(story.FINISHED)


async def delivered(stage: Stage) -> None:
    await finished(stage)
    await stage.settle()
    await stage.pilot.press("shift+tab", "enter")


async def gave_up(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, issue=story.ISSUE)
    stage.session.end(story.GAVE_UP)


async def helped(stage: Stage) -> None:
    await stage.pilot.press("f1")


async def queued(stage: Stage) -> None:
    await streaming(stage)
    await stage.say("keep the signature, please")
    await stage.say("and add a test")


async def answered(stage: Stage) -> None:
    answer = (
        "It takes off **one** day (`clock/arithmetic.py:18`):\n\n"
        "1. `divmod` counts hours\n2. the branch takes off 24\n\n"
        "```python\nif hour >= 24:\n    hour -= 24\n```\n"
    )
    answering = PhaseEntered(candidate="c1", phase="answer", attempt=1)
    reply = MessageFinished(candidate="c1", message=AssistantMessage(text=answer))
    await stage.fix(story.STARTED, answering, reply, issue=story.ISSUE)
    stage.session.end(SessionFinished(kind=None, summary="Nothing was changed.", report=answer, exit_code=0))


async def stopping(stage: Stage) -> None:
    stage.session.obedient = False
    await streaming(stage)
    await stage.pilot.press("escape")


@pytest.mark.parametrize(
    ("scene", "theme", "size"),
    [
        (start, DARK, (80, 24)),
        pytest.param(typed, LIGHT, (60, 16), marks=pytest.mark.thorough),
        (streaming, DARK, (80, 24)),
        pytest.param(streaming, LIGHT, (60, 16), marks=pytest.mark.thorough),
        (unfolded, DARK, (80, 24)),
        (verified, DARK, (80, 24)),
        pytest.param(question, LIGHT, (80, 24), marks=pytest.mark.thorough),
        (review, DARK, (80, 24)),
        pytest.param(review, LIGHT, (80, 24), marks=pytest.mark.thorough),
        pytest.param(review, ANSI, (60, 16), marks=pytest.mark.thorough),
        (review, DARK, (160, 40)),
        (review_lines, DARK, (80, 24)),
        pytest.param(review_lines, ANSI, (60, 16), marks=pytest.mark.thorough),
        pytest.param(review_text, LIGHT, (80, 24), marks=pytest.mark.thorough),
        (review_edited, DARK, (80, 24)),
        (review_files, DARK, (80, 24)),
        pytest.param(review_files, LIGHT, (160, 40), marks=pytest.mark.thorough),
        (plan, DARK, (80, 24)),
        pytest.param(plan, LIGHT, (60, 16), marks=pytest.mark.thorough),
        (finished, DARK, (100, 30)),
        (delivered, DARK, (80, 24)),
        pytest.param(gave_up, LIGHT, (80, 24), marks=pytest.mark.thorough),
        (stopping, DARK, (80, 24)),
        (helped, DARK, (100, 40)),
        pytest.param(queued, LIGHT, (80, 24), marks=pytest.mark.thorough),
        (answered, DARK, (80, 30)),
    ],
)
def test_matches_snapshot(
    scene: Callable[[Stage], Awaitable[None]], theme: str, size: tuple[int, int], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with stage(size=size) as terminal:
            terminal.app.theme = theme
            await scene(terminal)
            await terminal.settle()
            shade = theme.rpartition("-")[2] if theme != ANSI else "ansi"
            pictures.check_picture(terminal, f"{scene.__name__}-{shade}-{size[0]}x{size[1]}", tmp_path)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("name", "typed", "keys"),
    [
        ("completion", "see @t", KeyBindings()),
        ("arguments", "/theme te", KeyBindings({"send": "ctrl+s"})),
        ("vim", "it wraps", KeyBindings(has_vim=True)),
    ],
)
def test_prompt_matches_snapshot(name: str, typed: str, keys: KeyBindings, tmp_path: Path) -> None:
    async def scenario() -> None:
        async def start(_: UserRequest) -> FakeSession:
            return FakeSession()

        app = CoderApp(
            start,
            repository="/home/ada/clock",
            model=lambda: SessionModel("acme:large"),
            services=Services(names=Names()),
            keys=keys,
        )
        async with stage(app) as terminal:
            await terminal.type(typed)
            if keys.has_vim:
                await terminal.pilot.press("escape", "b", "d")
            await terminal.settle()
            pictures.check_picture(terminal, f"{name}-dark-80x24", tmp_path)

    asyncio.run(scenario())


def test_recorded_session_matches_snapshot(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = EventLog(clock=ticking_clock())
        for event in [*story.LOCATED, *story.PATCHED, *story.REPAIRED, story.FINISHED]:
            log.append(event)
        log.close()
        async with stage(replay_app(log), size=(100, 30)) as terminal:
            await terminal.settle()
            pictures.check_picture(terminal, "replay-dark-100x30", tmp_path)

    asyncio.run(scenario())


def test_everything_is_readable_without_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        async with stage() as terminal:
            await review(terminal)
            await terminal.settle()
            pictures.check_picture(terminal, "review-grey-80x24", tmp_path)

    asyncio.run(scenario())


def test_snapshot_detects_changed_text_and_colours() -> None:
    async def scenario() -> tuple[str, str]:
        async with stage() as terminal:
            await terminal.settle()
            before = pictures.picture(terminal)
            terminal.app.theme = LIGHT
            for _ in range(50):  # a busy machine takes its time to restyle
                await terminal.settle()
                if (after := pictures.picture(terminal)) != before:
                    break
            return before, after

    dark, light = asyncio.run(scenario())
    assert (pictures.text(dark), pictures.drawer(dark)) == (pictures.text(light), pictures.drawer(light))
    assert pictures.text(dark)[0].startswith(" coder  /home/ada/clock")
    assert dark != light
