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
    """Follows what is added for as long as the person has not scrolled up."""

    def on_mount(self) -> None:
        self.anchor()

    def on_fold_unfolded(self, message: Fold.Unfolded) -> None:
        """Stay at what the person wants to read, from its first line on."""
        self.release_anchor()
        self.call_after_refresh(self._reveal, message.fold)

    def _reveal(self, fold: Fold) -> None:
        self.scroll_to_widget(fold, animate=False, top=fold.size.height > self.size.height)

    async def add(self, *widgets: Widget) -> None:
        await self.mount(*widgets)

    async def add_issue(self, text: str) -> None:
        """Show the issue, unless it is what is shown last: it is shown when it is sent, and told by the log again."""
        if not (self.children and isinstance(newest := self.children[-1], Issue) and newest.text == text):
            await self.mount(Issue(text))

    async def add_line(self, text: str, kind: str) -> None:
        """Show a line of a kind that the style sheet knows, such as `phase` or `warning`."""
        await self.mount(Static(text, markup=False, classes=kind))
