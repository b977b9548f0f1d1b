"""Screen on which the user reviews a fix before delivery, hunk by hunk."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from coder.core.events import ReviewAsked
from coder.core.values.hunk import HunkComment
from coder.core.values.text import sanitize_text
from coder.ui.tui.screens.question import INPUT_DELAY_SECONDS
from coder.ui.tui.widgets.review.file_list import FileList
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice
from coder.ui.tui.widgets.review.hunk_list import HunkList

KEYS = "y accept · n reject · a/r all · c comment · f/F file · enter confirm · esc deliver nothing"
MOST_NOTES = 4
FILE_LIST_COLUMNS = 100
"""Width of the terminal from which the files are listed."""


class ReviewDecision(NamedTuple):
    """The user's decision on a change."""

    accepted: tuple[int, ...]
    """Numbers of the accepted hunks."""
    comments: tuple[HunkComment, ...] = ()


class CommentScreen(ModalScreen[str]):
    """Dismisses with what the user wants to be changed in a hunk; empty takes a comment back."""

    CSS_PATH = "comment.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "leave it as it is")]

    def __init__(self, hunk: str, comment: str) -> None:
        super().__init__()
        self._hunk = hunk
        self._comment = comment

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(sanitize_text(f"What should the model change in {self._hunk}?"), markup=False)
            yield Input(self._comment, compact=True)
            yield Static("enter keep it · esc leave it as it is", id="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class ReviewScreen(ModalScreen[ReviewDecision]):
    """Dismisses with a decision; initially all hunks are accepted."""

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
        self.dismiss(ReviewDecision(()))

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
        comments = len(self._comments)
        outcome = (
            f"enter has the model work on {comments} comment{'s' * (comments != 1)}; then you review again"
            if comments
            else _describe_outcome(sum(choices), of=len(choices))
        )
        self.query_one("#outcome", Static).update(f"Review: {outcome}")

    @property
    def _comments(self) -> tuple[HunkComment, ...]:
        return tuple(
            HunkComment(hunk=number, text=choice.comment)
            for number, choice in enumerate(self.query(HunkChoice))
            if choice.comment
        )

    def on_hunk_choice_commented(self, event: HunkChoice.Commented) -> None:
        """Ask for the comment on a hunk."""

        def keep_comment(text: str | None) -> None:
            if text is not None:
                event.choice.show_comment(text)

        self.app.push_screen(CommentScreen(event.choice.hunk.path, event.choice.comment), keep_comment)

    def on_hunk_list_confirmed(self) -> None:
        choices = self.query_one(HunkList).choices
        accepted = tuple(number for number, accepted in enumerate(choices) if accepted)
        self.dismiss(ReviewDecision(accepted, self._comments))


def _describe_outcome(accepted: int, *, of: int) -> str:
    if accepted == of:
        return "enter delivers the whole fix"
    return (
        f"{accepted} of {of} hunks: enter verifies them again, then delivers"
        if accepted
        else "enter delivers nothing"
    )
