"""What happened so far, newest at the bottom."""

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from coder.ui.tui.widgets.fold import Fold


class Issue(Static):
    """What the person asked for."""

    def __init__(self, text: str) -> None:
        super().__init__(text, markup=False)
        self.text = text


class Transcript(VerticalScroll, can_focus=False):
    """Follows what is added for as long as the person has not scrolled up.

    What is added is mounted when there is time: a long log is drawn once, not once a record.
    """

    def on_mount(self) -> None:
        self.anchor()

    async def on_fold_turned(self, message: Fold.Turned) -> None:
        """Show the inside, and stay at what the person wants to read, from its first line on."""
        inside = message.fold.turn()
        if inside is not None:
            await self.mount(inside, after=message.fold)
            self.call_after_refresh(self._reveal, message.fold, inside)

    def _reveal(self, fold: Fold, inside: Widget) -> None:
        fits = fold.size.height + inside.size.height <= self.size.height
        self.scroll_to_widget(inside if fits else fold, animate=False, top=not fits, force=True)

    def add(self, *widgets: Widget) -> None:
        self.mount(*widgets)

    def add_issue(self, text: str) -> None:
        """Show the issue, unless it is what is shown last: it is shown when it is sent, and told by the log again."""
        if not (self.children and isinstance(newest := self.children[-1], Issue) and newest.text == text):
            self.mount(Issue(text))

    def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        self.mount(Static(text, markup=False, classes=kind))
