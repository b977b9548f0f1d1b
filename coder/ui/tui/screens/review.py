"""Screen on which the user reviews a change, hunk by hunk."""

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from coder.core.events import ReviewAsked
from coder.core.values.hunk import HunkComment, HunkDecisions
from coder.core.values.text import sanitize_text
from coder.patching.git_hunks import hunk_lines, replace_new_lines
from coder.ui.tui.keys import find_key_bindings
from coder.ui.tui.screens.dialog import Dialog
from coder.ui.tui.screens.hunk_editor import HunkEditor, HunkText
from coder.ui.tui.screens.line_choice import LineChoiceScreen
from coder.ui.tui.widgets.review.file_tree import FileTree
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice, ReviewPurpose
from coder.ui.tui.widgets.review.hunk_list import HunkList

DECISION_KEYS = (
    "{accept} accept · {reject} reject · {accept_all}/{reject_all} all · {lines} lines · {edit} edit · "
    "{restore} undo edits"
)
FILE_KEYS = "{next_file}/{previous_file} file · {files} files"
END_KEYS = f"{FILE_KEYS} · {{confirm}} confirm"
KEYS: Mapping[ReviewPurpose, str] = {
    "deliver": f"{DECISION_KEYS} · {{comment}} comment · {END_KEYS} · esc deliver nothing",
    "apply": f"{DECISION_KEYS} · {END_KEYS} · esc apply nothing",
    "read": f"{{previous_hunk}}/{{next_hunk}} hunk · {FILE_KEYS} · q close",
}
"""Hints, with names of bindings instead of their keys."""
MOST_NOTES = 4
FILE_TREE_COLUMNS = 100
"""Width of the terminal from which the files are always shown."""


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


class ReviewScreen(Dialog[HunkDecisions]):
    """Dismisses with the user's decisions, with None if there is nothing to decide.

    Initially all hunks are accepted.
    """

    CSS_PATH = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", "deliver nothing"),
        Binding("q", "close", "close"),
        Binding("t", "show_files", "files", id="files"),
    ]

    def __init__(
        self, review: ReviewAsked, *, purpose: ReviewPurpose = "deliver", title: str = "Review"
    ) -> None:
        super().__init__()
        self._review = review
        self._purpose = purpose
        self._heading = title

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
            yield FileTree()
            yield HunkList(self._review, purpose=self._purpose)
        hint = find_key_bindings(self).fill(KEYS[self._purpose])
        yield Static(hint, id="keys", markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self.on_hunk_choice_decided)

    def focus_first(self) -> None:
        for choice in self.query_one(HunkList).choices[:1]:
            choice.focus()

    def check_action(self, action: str, _: tuple[object, ...]) -> bool | None:
        """Close by a letter only where nothing can be lost."""
        return action != "close" or self._purpose == "read"

    def action_close(self) -> None:
        self.dismiss(None)

    def action_refuse(self) -> None:
        """Accept nothing; the session asks whether that is meant, and may go on with these decisions."""
        decisions = self._decisions.model_copy(update={"refused": True})
        self.dismiss(None if self._purpose == "read" else decisions)

    def on_resize(self) -> None:
        self._place_files()

    def _place_files(self) -> None:
        """Show the tree of files where it has room, or while the user is in it."""
        has_room = self.app.size.width >= FILE_TREE_COLUMNS
        for tree in self.query(FileTree):
            has_several = len(self.query_one(HunkList).files) > 1
            tree.display = has_several and (has_room or tree.has_focus)

    def action_show_files(self) -> None:
        """Go to the tree of files, which appears for this where it has no room beside the hunks."""
        tree = self.query_one(FileTree)
        tree.display = True
        tree.point_at(tree.file)
        tree.focus()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if isinstance(event.widget, HunkChoice):
            self.query_one(FileTree).point_at(event.widget.hunk.path)
            self._place_files()

    def on_tree_node_selected(self, event: FileTree.NodeSelected[str]) -> None:
        if event.node.data is not None:
            self.query_one(HunkList).show_file(event.node.data)

    def on_file_tree_left(self) -> None:
        path = self.query_one(FileTree).file
        self.query_one(HunkList).show_file(path)

    def on_hunk_choice_decided(self) -> None:
        self.query_one(FileTree).show(self.query_one(HunkList).files)
        self._show_outcome(self._describe_outcome())

    def _show_outcome(self, text: str) -> None:
        self.query_one("#outcome", Static).update(f"{self._heading}: {text}")

    def _describe_outcome(self) -> str:
        """Return what enter does with the decisions so far."""
        confirm = find_key_bindings(self).label("confirm")
        choices = self.query_one(HunkList).choices
        decisions = self._decisions
        count, accepted = len(choices), len(decisions.accepted)
        edited = sum(choice.is_changed and choice.accepted for choice in choices)
        if self._purpose == "read":
            return f"{count} hunk{'s' * (count != 1)}"
        if comments := len(decisions.comments):
            noun = f"{comments} comment{'s' * (comments != 1)}"
            return f"{confirm} has the model work on {noun}; then you review again"
        verb = "delivers" if self._purpose == "deliver" else "applies"
        changed_fate = (
            "verifies them again, then delivers"
            if self._purpose == "deliver"
            else "applies them, uncommitted and not verified"
        )
        if accepted == count and not edited:
            return f"{confirm} {verb} the whole fix"
        changed = f", {edited} changed" if edited else ""
        return (
            f"{accepted} of {count} hunks{changed}: {confirm} {changed_fate}"
            if accepted
            else f"{confirm} {verb} nothing"
        )

    @property
    def _decisions(self) -> HunkDecisions:
        choices = self.query_one(HunkList).choices
        return HunkDecisions(
            accepted=tuple(number for number, choice in enumerate(choices) if choice.accepted),
            comments=tuple(
                HunkComment(hunk=number, text=choice.comment)
                for number, choice in enumerate(choices)
                if choice.comment
            ),
            edits=tuple(choice.edit for choice in choices if choice.is_changed),
        )

    def on_hunk_choice_opened(self, event: HunkChoice.Opened) -> None:
        """Open what the user wants to do with a hunk."""
        choice = event.choice
        if event.dialog == "comment":
            self._ask_for_comment(choice)
        elif not hunk_lines(choice.full_hunk.body):
            hint = "this hunk has no lines to choose or edit: {accept} accepts it, {reject} rejects it"
            self._show_outcome(find_key_bindings(self).fill(hint))
        elif event.dialog == "lines":
            self._choose_lines(choice)
        else:
            self._edit_text(choice)

    def _ask_for_comment(self, choice: HunkChoice) -> None:
        def keep_comment(text: str | None) -> None:
            if text is not None:
                choice.show_comment(text)

        self.app.push_screen(CommentScreen(choice.hunk.path, choice.comment), keep_comment)

    def _choose_lines(self, choice: HunkChoice) -> None:
        def keep_choice(omitted: tuple[int, ...] | None) -> None:
            if omitted is not None:
                choice.show_edit(choice.edit.model_copy(update={"omitted": omitted}))

        omitted = choice.edit.omitted
        self.app.push_screen(LineChoiceScreen(choice.full_hunk, omitted), keep_choice)

    def _edit_text(self, choice: HunkChoice) -> None:
        def keep_text(edited: HunkText | None) -> None:
            if edited is None or edited.lines == tuple(
                line.text for line in choice.lines if line.sign != "-"
            ):
                choice.show_draft("")
            elif edited.is_kept:
                body = replace_new_lines(choice.full_hunk.body, edited.lines)
                choice.show_edit(choice.edit.model_copy(update={"body": body, "omitted": ()}))
            else:
                choice.show_draft(edited.text)

        self.app.push_screen(HunkEditor(choice.hunk, choice.draft), keep_text)

    def on_hunk_list_confirmed(self) -> None:
        """End the review, unless the user has typed something that it would lose."""
        drafted = next((choice for choice in self.query_one(HunkList).choices if choice.draft), None)
        if drafted is None:
            self.dismiss(self._decisions)
            return
        drafted.focus()
        hint = "an edit is not kept yet: {edit} opens it, {restore} drops it"
        self._show_outcome(find_key_bindings(self).fill(hint))
