"""The review screen: lines of a hunk, edits in place; outside of a session, too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from coder.core.events import Decide, ReviewAsked
from coder.core.values import EditedHunk, HunkDecisions
from coder.ui.tui.review import HunkChoice, ReviewApp, ReviewPurpose, restore_lines
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage

EDITED = "@@ -1,6 +1,8 @@\n" + "".join(
    f"{line}\n"
    for line in (
        ' """Arithmetic on the time of day."""',
        " ",
        " MINUTES = 60",
        "+HOURS = 24",
        "+# a day",
        " ",
        " ",
        " def add(clock: tuple[int, int], minutes: int) -> tuple[int, int]:",
    )
)


@asynccontextmanager
async def reviewing(
    review: ReviewAsked = story.REVIEW, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Stage]:
    """Yield a terminal whose session has asked for this review."""
    async with stage(size=size) as terminal:
        await terminal.fix(story.STARTED, review)
        await terminal.wait_for_question()
        yield terminal


@pytest.mark.thorough
async def test_edits_a_hunk_in_place() -> None:
    async with reviewing() as terminal:
        await terminal.press("e", *["down"] * 3, "end", "enter")
        await terminal.type("# a day")
        await terminal.press("ctrl+s")
        assert "[accepted] clock/arithmetic.py · edited" in terminal.text
        assert "+# a day" in terminal.text
        assert "Review: 3 of 3 hunks, 1 changed: enter verifies and delivers them" in terminal.text
        await terminal.press("u")
        assert "Review: enter delivers the whole fix" in terminal.text
        await terminal.press("e", *["down"] * 3, "end", "enter")
        await terminal.type("# a day")
        await terminal.press("ctrl+s", "enter")
    assert terminal.session.commands == [
        Decide(question="q1", accepted=(0, 1, 2), edits=(EditedHunk(hunk=0, body=EDITED),))
    ]


async def test_escape_drops_what_was_typed() -> None:
    async with reviewing() as terminal:
        await terminal.press("e", *["down"] * 3, "end", "enter")
        await terminal.type("# a day")
        await terminal.press("escape", "e")
        assert "# a day" not in terminal.text
        await terminal.press("escape", "enter")
    assert terminal.session.commands == [Decide(question="q1", accepted=(0, 1, 2))]


@pytest.mark.thorough
async def test_text_dropped_unchanged_or_without_additions_edits_no_hunk() -> None:
    decisions = {
        ("e", "x", "escape", "u"): (0, 1, 2),
        ("e", "ctrl+s", "e", "escape"): (0, 1, 2),
        ("e", *["down"] * 3, "home", "shift+down", "delete", "ctrl+s"): (1, 2),
    }
    async with reviewing() as terminal:
        for number, (keys, accepted) in enumerate(decisions.items(), 1):
            if number > 1:
                await terminal.ask(story.REVIEW.model_copy(update={"question": f"q{number}"}))
            await terminal.press(*keys)
            assert ("[rejected] clock/arithmetic.py" in terminal.text) == (0 not in accepted)
            await terminal.press("enter")
    assert terminal.session.commands == [
        Decide(question=f"q{number}", accepted=accepted)
        for number, accepted in enumerate(decisions.values(), 1)
    ]


@pytest.mark.thorough
async def test_change_without_lines_is_decided_as_a_whole() -> None:
    renamed = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"

    review = story.REVIEW.model_copy(update={"diff": renamed, "droppable": ()})
    async with reviewing(review) as terminal:
        await terminal.press("e")
        assert "Review: this hunk has no lines to edit" in terminal.text
        await terminal.press("enter")
    assert terminal.session.commands == [Decide(question="q1", accepted=(0,))]


@pytest.mark.parametrize(
    ("lines", "edited", "restored"),
    [
        (["a\r\n", "b\r\n"], ["a", "x", "b"], ("a\r\n", "x\r\n", "b\r\n")),
        (["a\x0cb\n", "c"], ["a�b", "x"], ("a\x0cb\n", "x")),
        (["a\n", "b"], ["b", "a"], ("b\n", "a")),
        (["a\n"], [], ()),
        ([], ["a"], ("a\n",)),
    ],
)
def test_lines_keep_what_is_not_shown(lines: list[str], edited: list[str], restored: tuple[str, ...]) -> None:
    shown = [line.rstrip("\r\n").replace("\x0c", "�") for line in lines]
    assert restore_lines(lines, shown, edited) == restored


async def shown_by(
    purpose: ReviewPurpose, *keys: str, review: ReviewAsked = story.REVIEW
) -> tuple[str, HunkDecisions | None]:
    """Return the screen before the last key in a review outside of a session, and its result."""
    app = ReviewApp(review, purpose=purpose, title="Change")
    async with app.run_test(size=(120, 30)) as pilot:
        while app.screen.focused is None:
            await pilot.pause(0.05)
        await pilot.press(*keys[:-1])
        await pilot.pause(0.2)
        lines = app.screen._compositor.render_strips()
        text = "\n".join("".join(segment.text for segment in line) for line in lines)
        await pilot.press(keys[-1])
    return text, app.return_value


async def test_reading_decides_nothing() -> None:
    text, result = await shown_by("read", "n", "r", "space", "e", "c", "enter", "t")
    assert "Change: 3 hunks" in text and "q close" in text
    assert "[accepted]" not in text and "[rejected]" not in text
    assert "PROVEN  1 test failed before and passes now" in text
    assert result is None


@pytest.mark.parametrize("columns", [80, pytest.param(160, marks=pytest.mark.thorough)])
async def test_long_review_renders_the_hunks_in_view(columns: int) -> None:
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n" + "".join(
        f"@@ -{line},3 +{line},3 @@\n before\n-old {line}\n+new {line}\n after\n"
        for line in range(1, 161, 10)
    )

    review = ReviewAsked(question="q1", diff=diff)
    async with reviewing(review, size=(columns, 24)) as terminal:
        await terminal.press("r", "G")
        assert "new 151" in terminal.text
        assert not all(choice.is_rendered for choice in terminal.app.screen.query(HunkChoice))
        await terminal.press("y", "ctrl+u", "ctrl+u")
        assert "[rejected]" in terminal.text and "new 101" in terminal.text
        await terminal.press("enter")
    assert terminal.session.commands == [Decide(question="q1", accepted=(15,))]
