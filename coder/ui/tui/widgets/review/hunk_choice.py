"""Widget for one hunk of a review: accepted or rejected, as proposed or as the user changed it."""

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from coder.core.values.hunk import EditedHunk, Hunk
from coder.core.values.text import sanitize_text
from coder.patching.git_hunks import edited_body, hunk_lines
from coder.ui.tui.widgets.diff import render_hunk, render_hunk_side_by_side

ReviewPurpose = Literal["deliver", "apply", "read"]
"""To deliver what is accepted, to apply it to the user's branch, or to look at it only."""
HunkDialog = Literal["comment", "lines", "text"]
SIDE_BY_SIDE_COLUMNS = 140
"""Width of the terminal from which old and new lines are side by side."""


class HunkChoice(Vertical, can_focus=True):
    """Shows a hunk and the decision on it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "turn round", id="turn"),
        Binding("l", "open('lines')", "choose lines", id="lines"),
        Binding("e", "open('text')", "edit", id="edit"),
        Binding("u", "restore", "as proposed", id="restore"),
        Binding("c", "open('comment')", "comment", id="comment"),
    ]

    class Decided(Message):
        """Posted when the user decides on a hunk, or changes it."""

    class Opened(Message):
        """Posted when the user wants to comment on a hunk, to choose its lines, or to edit it."""

        def __init__(self, choice: "HunkChoice", dialog: HunkDialog) -> None:
            super().__init__()
            self.choice = choice
            self.dialog = dialog

    def __init__(
        self,
        hunk: Hunk,
        edit: EditedHunk,
        *,
        comment: str = "",
        droppable: bool = False,
        accepted: bool = True,
        purpose: ReviewPurpose = "deliver",
        is_rendered: bool = True,
    ) -> None:
        """Take `edit`, the user's changes to the hunk so far.

        What is not `is_rendered` takes its height alone, until `show_lines` is called.
        """
        super().__init__()
        self._hunk = hunk
        self._droppable = droppable
        self._purpose = purpose
        self.edit = edit
        self.accepted = accepted
        self.comment = comment
        """The user's request for this hunk."""
        self.draft = ""
        """What the user has typed and not kept."""
        self.lines = hunk_lines(self.hunk.body)
        """The lines of the hunk as the user wants it; none if it has no text."""
        self._is_wide = False
        self.is_rendered = is_rendered

    @property
    def hunk(self) -> Hunk:
        """The hunk as the user wants it."""
        return self._hunk.model_copy(update={"body": edited_body(self._hunk, self.edit) or self._hunk.body})

    @property
    def full_hunk(self) -> Hunk:
        """The hunk with all of its lines, which the user may have edited."""
        return self._hunk.model_copy(update={"body": self.edit.body or self._hunk.body})

    @property
    def is_changed(self) -> bool:
        return bool(self.edit.body or self.edit.omitted)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer decisions where there is something to decide, and comments where a model can read them."""
        if action == "open" and parameters == ("comment",):
            return self._purpose == "deliver"
        return self._purpose != "read"

    def compose(self) -> ComposeResult:
        if not self.is_rendered:
            self.styles.height = 1 + self.hunk.body.count("\n")
            return
        self._is_wide = self.app.size.width >= SIDE_BY_SIDE_COLUMNS
        yield Static(self._title, classes="title", markup=False)
        comment = Static(sanitize_text(f"comment: {self.comment}"), classes="comment", markup=False)
        comment.display = bool(self.comment)
        yield comment
        yield from (render_hunk_side_by_side if self._is_wide else render_hunk)(self.hunk)

    @property
    def _title(self) -> str:
        mark = "" if self._purpose == "read" else "[accepted] " if self.accepted else "[rejected] "
        remarks = [sanitize_text(self._hunk.path)]
        if self.edit.body:
            remarks.append("edited")
        if omitted := len(self.edit.omitted):
            remarks.append(f"{omitted} line{'s' * (omitted != 1)} left out")
        if self.draft:
            remarks.append("an edit is not kept yet: e")
        if self._droppable:
            remarks.append("untested: no test fails without it")
        return f"{mark}{' · '.join(remarks)}"

    def on_mount(self) -> None:
        self.set_class(not self.accepted, "rejected")

    def show_lines(self) -> None:
        self.is_rendered = True
        self.styles.height = "auto"
        self.refresh(recompose=True)

    def on_resize(self) -> None:
        """Show old and new lines side by side where there is room for both."""
        if self._is_wide != (self.app.size.width >= SIDE_BY_SIDE_COLUMNS):
            self.refresh(recompose=True)

    def decide(self, *, accepted: bool) -> None:
        self.accepted = accepted
        self.set_class(not accepted, "rejected")
        for title in self.query(".title").results(Static):
            title.update(self._title)
        self.post_message(self.Decided())

    def show_comment(self, text: str) -> None:
        """Keep and show the user's request for this hunk; empty takes it back."""
        self.comment = text
        self.refresh(recompose=True)
        self.post_message(self.Decided())

    def show_draft(self, text: str) -> None:
        """Keep what the user has typed for the next time that the editor is opened."""
        self.draft = text
        self.refresh(recompose=True)

    def show_edit(self, edit: EditedHunk) -> None:
        """Accept the hunk with the user's changes; reject it as it was if they leave no changed line."""
        if accepted := bool(edited_body(self._hunk, edit)):
            self.edit = edit
            self.lines = hunk_lines(self.hunk.body)
        self.draft = ""
        self.refresh(recompose=True)
        self.decide(accepted=accepted)

    def action_open(self, dialog: HunkDialog) -> None:
        self.post_message(self.Opened(self, dialog))

    def action_restore(self) -> None:
        """Take back the user's changes to the hunk."""
        self.show_edit(EditedHunk(hunk=self.edit.hunk))

    def action_turn(self) -> None:
        self.decide(accepted=not self.accepted)

    def on_click(self, event: Click) -> None:
        if self._purpose != "read" and event.widget in [*self.query(".title")]:
            self.action_turn()
