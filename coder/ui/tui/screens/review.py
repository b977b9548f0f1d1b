"""Screen on which the user reviews a fix before delivery, hunk by hunk."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from coder.ui.tui.screens.question import INPUT_DELAY_SECONDS
from coder.ui.tui.widgets.hunk_list import HunkList

KEYS = "y accept · n reject · a/r all · enter confirm · esc stop"


class ReviewScreen(ModalScreen[tuple[int, ...]]):
    """Dismisses with the numbers of the accepted hunks; initially all are accepted."""

    CSS_PATH = "review.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.stop", "stop")]

    def __init__(self, diff: str, droppable: tuple[int, ...] = ()) -> None:
        super().__init__()
        self._diff = diff
        self._droppable = droppable

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        yield HunkList(self._diff, self._droppable)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.set_timer(INPUT_DELAY_SECONDS, self.focus_next)

    def on_hunk_choice_decided(self) -> None:
        choices = self.query_one(HunkList).choices
        self.query_one("#outcome", Static).update(
            f"Review: {_describe_outcome(sum(choices), of=len(choices))}"
        )

    def on_hunk_list_confirmed(self) -> None:
        choices = self.query_one(HunkList).choices
        self.dismiss(tuple(number for number, accepted in enumerate(choices) if accepted))


def _describe_outcome(accepted: int, *, of: int) -> str:
    if accepted == of:
        return "enter delivers the whole fix"
    return (
        f"{accepted} of {of} hunks: enter verifies them again, then delivers"
        if accepted
        else "enter delivers nothing"
    )
