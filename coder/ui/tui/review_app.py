"""Application for one review outside of a session: of a stored change, or before it is applied."""

from pathlib import PurePath
from typing import ClassVar

from textual.binding import Binding, BindingType

from coder.core.events import ReviewAsked
from coder.core.values.hunk import HunkDecisions
from coder.ui.tui.keys import KeyBindings, KeyedApp
from coder.ui.tui.screens.review import ReviewScreen
from coder.ui.tui.widgets.review.hunk_choice import ReviewPurpose


class ReviewApp(KeyedApp[HunkDecisions]):
    """Shows a change, and ends with the user's decisions; with None if there are none."""

    TITLE = "coder"
    CSS_PATH: ClassVar[list[str | PurePath] | None] = ["app.tcss"]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "quit", "Quit", priority=True)]

    def __init__(
        self,
        review: ReviewAsked,
        *,
        purpose: ReviewPurpose,
        title: str,
        theme: str = "",
        keys: KeyBindings | None = None,
    ) -> None:
        """Take `theme` and `keys`, the user's, if they still exist."""
        super().__init__(keys)
        self._review = review
        self._purpose = purpose
        self._heading = title
        self._wished_theme = theme

    def on_mount(self) -> None:
        if self._wished_theme in self.available_themes:
            self.theme = self._wished_theme
        screen = ReviewScreen(self._review, purpose=self._purpose, title=self._heading)
        self.push_screen(screen, self.exit)
