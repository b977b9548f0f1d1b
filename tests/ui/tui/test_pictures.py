from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from coder.core.events import MessageFinished, PhaseEntered, SessionFinished
from coder.core.values import AssistantMessage
from coder.ui.tui.keys import KeyBindings
from tests.ui.tui import pictures, story
from tests.ui.tui.fakes import Stage, stage
from tests.ui.tui.test_completion import Names

LIGHT, DARK, ANSI = "textual-light", "textual-dark", "ansi-dark"


async def start(stage: Stage) -> None:
    await stage.settle()


async def unfolded(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.SPEAKING, *story.PATCHED, issue=story.ISSUE)
    await stage.pilot.press("shift+tab", "enter")


async def verified(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, *story.PATCHED, *story.REPAIRED, issue=story.ISSUE)


async def review(stage: Stage) -> None:
    await stage.fix(*story.LOCATED, story.REVIEW, issue=story.ISSUE)
    await stage.wait_for_question()
    await stage.pilot.press("y", "n")


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


async def helped(stage: Stage) -> None:
    await stage.pilot.press("f1")


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


@pytest.mark.parametrize(
    ("scene", "theme", "size"),
    [
        (start, DARK, (80, 24)),
        (unfolded, DARK, (80, 24)),
        (review, DARK, (80, 24)),
        pytest.param(review, ANSI, (60, 16), marks=pytest.mark.thorough),
        (plan, DARK, (80, 24)),
        (delivered, DARK, (80, 24)),
        (helped, DARK, (100, 40)),
        pytest.param(answered, DARK, (80, 30), marks=pytest.mark.thorough),
    ],
)
async def test_matches_snapshot(
    scene: Callable[[Stage], Awaitable[None]], theme: str, size: tuple[int, int], tmp_path: Path
) -> None:
    async with stage(size=size) as terminal:
        terminal.app.theme = theme
        await scene(terminal)
        await terminal.settle()
        shade = theme.rpartition("-")[2] if theme != ANSI else "ansi"
        pictures.check_picture(terminal, f"{scene.__name__}-{shade}-{size[0]}x{size[1]}", tmp_path)


async def test_prompt_matches_snapshot(tmp_path: Path) -> None:
    async with stage(services=Names(), keys=KeyBindings(has_vim=True)) as terminal:
        await terminal.type("it wraps")
        await terminal.pilot.press("escape", "b", "d")
        await terminal.settle()
        pictures.check_picture(terminal, "vim-dark-80x24", tmp_path)


@pytest.mark.thorough
async def test_everything_is_readable_without_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stage() as terminal:
        await review(terminal)
        await terminal.settle()
        pictures.check_picture(terminal, "review-grey-80x24", tmp_path)
