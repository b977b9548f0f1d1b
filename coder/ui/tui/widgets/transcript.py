"""Transcript of the session, newest at the bottom."""

from collections.abc import Sequence

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from coder.core.values.text import sanitize_text
from coder.ui.tui.widgets.earlier import EarlierRecords
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

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for earlier events once the user has scrolled up to the line that stands for them."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value:
            self.ask_for_earlier()

    def ask_for_earlier(self) -> None:
        """Ask for earlier events if the line that stands for them is in view, or above it."""
        for earlier in self.query(EarlierRecords):
            if self.scroll_y <= earlier.virtual_region.bottom:
                earlier.call_next(earlier.ask)  # Textual stops messages of a child that its parent sends

    def insertion_below(self, widget: Widget) -> "Insertion":
        """Return the place below a widget."""
        return Insertion(self, widget)

    def keep_in_view(self, widget: Widget) -> None:
        """Keep what the user sees of a widget where it is, when others are mounted above it."""
        offset = widget.virtual_region.y - self.scroll_y
        self.call_after_refresh(
            lambda: self.scroll_to(y=widget.virtual_region.y - offset, animate=False, force=True)
        )

    def add(self, *widgets: Widget) -> None:
        self.mount(*widgets)

    def add_issue(self, text: str) -> None:
        """Show the issue unless it was shown last: it is shown when it is sent, and again by the log."""
        if not (self.children and isinstance(newest := self.children[-1], IssueText) and newest.text == text):
            self.mount(IssueText(text))

    async def remove_requests(self, texts: Sequence[str]) -> None:
        """Remove the newest requests and all below the first of them; nothing if that is not shown."""
        same = [widget for widget in self.query(IssueText) if texts and widget.text == texts[0]]
        count = texts.count(texts[0]) if texts else 0
        if 0 < count <= len(same):
            await self.remove_children(self.children[self.children.index(same[-count]) :])

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        self.mount(Static(sanitize_text(text), markup=False, classes=kind))


class Insertion:
    """Place inside a transcript where widgets are added, in order."""

    def __init__(self, transcript: Transcript, after: Widget) -> None:
        self._transcript = transcript
        self._after = after

    def add(self, *widgets: Widget) -> None:
        for widget in widgets:
            self._transcript.mount(widget, after=self._after)
            self._after = widget

    def add_issue(self, text: str) -> None:
        self.add(IssueText(text))

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows."""
        self.add(Static(sanitize_text(text), markup=False, classes=kind))
