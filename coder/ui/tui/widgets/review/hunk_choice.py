"""Widget for one hunk of a review, accepted or rejected."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from coder.core.values.hunk import Hunk
from coder.core.values.text import sanitize_text
from coder.ui.tui.widgets.diff import render_hunk, render_hunk_side_by_side

SIDE_BY_SIDE_COLUMNS = 140
"""Width of the terminal from which old and new lines are side by side."""


class HunkChoice(Vertical, can_focus=True):
    """Shows a hunk and the decision on it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide(True)", "accept"),
        Binding("n", "decide(False)", "reject"),
        Binding("space", "turn", "turn round"),
        Binding("c", "comment", "comment"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    class Decided(Message):
        """Posted when the user accepts or rejects a hunk."""

    class Commented(Message):
        """Posted when the user wants to comment on a hunk."""

        def __init__(self, choice: "HunkChoice") -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, hunk: Hunk, *, droppable: bool = False, accepted: bool = True) -> None:
        super().__init__()
        self._hunk = hunk
        self._remark = " · untested: no test fails without it" if droppable else ""
        self.accepted = accepted
        self.comment = ""
        """The user's request for this hunk."""
        self._is_wide = False

    @property
    def hunk(self) -> Hunk:
        return self._hunk

    def compose(self) -> ComposeResult:
        self._is_wide = self.app.size.width >= SIDE_BY_SIDE_COLUMNS
        yield Static(classes="title", markup=False)
        yield Static(classes="comment", markup=False)
        yield from (render_hunk_side_by_side if self._is_wide else render_hunk)(self._hunk)

    def on_mount(self) -> None:
        self.decide(accepted=self.accepted)

    async def on_resize(self) -> None:
        """Show old and new lines side by side where there is room for both."""
        if self._is_wide != (self.app.size.width >= SIDE_BY_SIDE_COLUMNS):
            await self.recompose()
            self._show_decision()

    def decide(self, *, accepted: bool) -> None:
        self.accepted = accepted
        self._show_decision()
        self.post_message(self.Decided())

    def _show_decision(self) -> None:
        accepted = self.accepted
        mark = "[accepted]" if accepted else "[rejected]"
        self.query_one(".title", Static).update(f"{mark} {sanitize_text(self._hunk.path)}{self._remark}")
        self.set_class(not accepted, "rejected")
        for comment in self.query(".comment").results(Static):
            comment.display = bool(self.comment)
            comment.update(sanitize_text(f"comment: {self.comment}"))

    def show_comment(self, text: str) -> None:
        """Keep and show the user's request for this hunk; empty takes it back."""
        self.comment = text
        self._show_decision()
        self.post_message(self.Decided())

    def action_comment(self) -> None:
        self.post_message(self.Commented(self))

    def action_decide(self, accepted: bool) -> None:
        """Decide, and focus the next hunk."""
        self.decide(accepted=accepted)
        self.app.action_focus_next()

    def action_turn(self) -> None:
        self.decide(accepted=not self.accepted)

    def on_click(self, event: Click) -> None:
        if event.widget is self.query_one(".title"):
            self.action_turn()
