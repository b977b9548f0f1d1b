"""Transcript of the session, newest at the bottom."""

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from coder.core.values.text import sanitize_text
from coder.ui.tui.widgets.fold import Fold

MOST_ISSUE_LINES = 20
"""Lines of a request that are shown; all of them are in the message to the model, which unfolds."""


class IssueText(Static):
    """Issue that the user asked to fix."""

    def __init__(self, text: str) -> None:
        lines = sanitize_text(text).splitlines()
        hidden = len(lines) - MOST_ISSUE_LINES
        shown = [*lines[:MOST_ISSUE_LINES], f"[{hidden} lines more]"] if hidden > 1 else lines
        super().__init__("\n".join(shown), markup=False)
        self.text = text


class Transcript(VerticalScroll, can_focus=False):
    """Follows new widgets as long as the user has not scrolled up.

    Widgets are mounted when there is time, so that a long log is drawn once and not for each record.
    """

    def on_mount(self) -> None:
        self.anchor()

    async def on_fold_turned(self, message: Fold.Turned) -> None:
        """Show the content, and keep its first line in view for the user."""
        inside = message.fold.toggle()
        if inside is not None:
            await self.mount(inside, after=message.fold)
            self.call_after_refresh(self._reveal, message.fold, inside)

    def _reveal(self, fold: Fold, inside: Widget) -> None:
        fits = fold.size.height + inside.size.height <= self.size.height
        self.scroll_to_widget(inside if fits else fold, animate=False, top=not fits, force=True)

    def add(self, *widgets: Widget) -> None:
        self.mount(*widgets)

    def add_issue(self, text: str) -> None:
        """Show the issue unless it was shown last: it is shown when it is sent, and again by the log."""
        if not (self.children and isinstance(newest := self.children[-1], IssueText) and newest.text == text):
            self.mount(IssueText(text))

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        self.mount(Static(sanitize_text(text), markup=False, classes=kind))
