import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from coder.session.log import EventLog
from coder.ui.tui.app import CoderApp
from tests.session.fakes import ticking_clock
from tests.ui.tui import pictures, story
from tests.ui.tui.fakes import Stage, stage

LIGHT, DARK, ANSI = "textual-light", "textual-dark", "ansi-dark"


async def start_session(stage: Stage) -> None:
    await stage.settle()


async def type_issue(stage: Stage) -> None:
    await stage.type("It wraps:")
    await stage.pilot.press("ctrl+j")
    await stage.type("49 h is 48:00")


async def stream_reply(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.SPEAKING, issue=story.ISSUE)


async def expand_call(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.SPEAKING, *story.PATCHED, issue=story.ISSUE)
    await stage.pilot.press("shift+tab", "enter")


async def show_verdict(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.PATCHED, *story.REPAIRED, issue=story.ISSUE)


async def show_question(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.QUESTION, issue=story.ISSUE)
    await stage.wait_for_question()


async def show_review(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.REVIEW, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press("y", "n")


async def show_plan(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.PLANNED, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press(*["down"] * 12, "end", "enter")
    await stage.type("and more")


async def finish_session(stage: Stage) -> None:
    await show_verdict(stage)
    stage.session.end(story.FINISHED)


async def deliver_fix(stage: Stage) -> None:
    await finish_session(stage)
    await stage.settle()
    await stage.pilot.press("shift+tab", "enter")


async def give_up(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, issue=story.ISSUE)
    stage.session.end(story.GAVE_UP)


async def stop_session(stage: Stage) -> None:
    stage.session.obedient = False
    await stream_reply(stage)
    await stage.pilot.press("escape")


@pytest.mark.parametrize(
    ("scene", "theme", "size"),
    [
        (start_session, DARK, (80, 24)),
        (type_issue, LIGHT, (60, 16)),
        (stream_reply, DARK, (80, 24)),
        (stream_reply, LIGHT, (60, 16)),
        (expand_call, DARK, (80, 24)),
        (show_verdict, DARK, (80, 24)),
        (show_question, LIGHT, (80, 24)),
        (show_review, DARK, (80, 24)),
        (show_review, LIGHT, (80, 24)),
        (show_review, ANSI, (60, 16)),
        (show_plan, DARK, (80, 24)),
        (show_plan, LIGHT, (60, 16)),
        (finish_session, DARK, (100, 30)),
        (deliver_fix, DARK, (80, 24)),
        (give_up, LIGHT, (80, 24)),
        (stop_session, DARK, (80, 24)),
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


def test_recorded_session_matches_snapshot(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = EventLog(clock=ticking_clock())
        for event in [*story.LOCATED, *story.PATCHED, *story.REPAIRED, story.FINISHED]:
            log.append(event)
        log.close()
        async with stage(CoderApp.replay(log), size=(100, 30)) as terminal:
            await terminal.settle()
            pictures.check_picture(terminal, "replay-dark-100x30", tmp_path)

    asyncio.run(scenario())


def test_everything_is_readable_without_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        async with stage() as terminal:
            await show_review(terminal)
            await terminal.settle()
            pictures.check_picture(terminal, "review-grey-80x24", tmp_path)

    asyncio.run(scenario())


def test_snapshot_detects_changed_text_and_colours() -> None:
    async def scenario() -> tuple[str, str]:
        async with stage() as terminal:
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
