"""Screen on which the user reviews a fix before delivery, hunk by hunk."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Static

from coder.core.events import ReviewAsked
from coder.core.values.text import sanitize_text
from coder.ui.tui.screens.question import INPUT_DELAY_SECONDS
from coder.ui.tui.widgets.review.file_list import FileList
from coder.ui.tui.widgets.review.hunk_list import HunkList

KEYS = "y accept · n reject · a/r all · f/F file · enter confirm · esc deliver nothing"
MOST_NOTES = 4
FILE_LIST_COLUMNS = 100
"""Width of the terminal from which the files are listed."""


class ReviewScreen(ModalScreen[tuple[int, ...]]):
    """Dismisses with the numbers of the accepted hunks; initially all are accepted."""

    CSS_PATH = "review.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "put_aside", "deliver nothing")]

    def __init__(self, review: ReviewAsked) -> None:
        super().__init__()
        self._review = review

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        if (verdict := self._review.verdict) is not None:
            yield Static(
                sanitize_text(f"{verdict.label}  {verdict.reason}"),
                classes=f"verdict {verdict.kind.name.lower()}",
                markup=False,
            )
            for note in verdict.notes[:MOST_NOTES]:
                yield Static(sanitize_text(f"noted: {note}"), classes="about", markup=False)
        with Horizontal(id="change"):
            yield FileList()
            yield HunkList(self._review.diff, self._review.droppable, accepted=self._review.accepted)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.set_timer(INPUT_DELAY_SECONDS, self.focus_next)

    def action_put_aside(self) -> None:
        """Accept nothing; the session asks whether that is meant."""
        self.dismiss(())

    def on_resize(self) -> None:
        self._show_files()

    def _show_files(self) -> None:
        has_room = self.app.size.width >= FILE_LIST_COLUMNS
        for files in self.query(FileList):
            files.show(self.query_one(HunkList).files if has_room else {})

    def on_option_list_option_selected(self, event: FileList.OptionSelected) -> None:
        self.query_one(HunkList).show_file(self.query_one(FileList).paths[event.option_index])

    def on_hunk_choice_decided(self) -> None:
        self._show_files()
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
