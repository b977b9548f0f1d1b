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
from coder.ui.tui.widgets.diff import render_hunk


class HunkChoice(Vertical, can_focus=True):
    """Shows a hunk and the decision on it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide(True)", "accept"),
        Binding("n", "decide(False)", "reject"),
        Binding("space", "turn", "turn round"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    class Decided(Message):
        """Posted when the user accepts or rejects a hunk."""

    def __init__(self, hunk: Hunk, *, droppable: bool = False, accepted: bool = True) -> None:
        super().__init__()
        self._hunk = hunk
        self._remark = " · untested: no test fails without it" if droppable else ""
        self.accepted = accepted

    def compose(self) -> ComposeResult:
        yield Static(classes="title", markup=False)
        yield from render_hunk(self._hunk)

    def on_mount(self) -> None:
        self.decide(accepted=self.accepted)

    def decide(self, *, accepted: bool) -> None:
        self.accepted = accepted
        mark = "[accepted]" if accepted else "[rejected]"
        self.query_one(".title", Static).update(f"{mark} {sanitize_text(self._hunk.path)}{self._remark}")
        self.set_class(not accepted, "rejected")
        self.post_message(self.Decided())

    def action_decide(self, accepted: bool) -> None:
        """Decide, and focus the next hunk."""
        self.decide(accepted=accepted)
        self.app.action_focus_next()

    def action_turn(self) -> None:
        self.decide(accepted=not self.accepted)

    def on_click(self, event: Click) -> None:
        if event.widget is self.query_one(".title"):
            self.action_turn()
