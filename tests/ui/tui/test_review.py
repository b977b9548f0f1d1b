"""The review screen: lines of a hunk; outside of a session, too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from coder.core.events import ReviewAnswered, ReviewAsked
from coder.ui.tui.review import HunkChoice
from tests.ui.tui import story
from tests.ui.tui.fakes import Stage, stage


@asynccontextmanager
async def reviewing(
    review: ReviewAsked = story.REVIEW, *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Stage]:
    """Yield a terminal whose session has asked for this review."""
    async with stage(size=size) as terminal:
        await terminal.fix(story.STARTED, review)
        await terminal.wait_for_question()
        yield terminal


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
    assert terminal.session.commands == [ReviewAnswered(question="q1", accepted=(15,))]
