"""Widget for the hunks of a review, with decisions on all of them."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from coder.core.events import ReviewAsked
from coder.core.values.hunk import EditedHunk
from coder.patching.git_hunks import split_git_diff
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice, ReviewPurpose
from coder.ui.tui.widgets.review.vim_scroll import VimScroll

FIRST_HUNKS = 8
"""Hunks that are rendered at once; the others are when they come into view."""


class HunkList(VimScroll, can_focus=False):
    """List of hunks; its keys work while one of its hunks has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "previous hunk", show=False, id="previous_hunk"),
        Binding("down,j", "move(1)", "next hunk", show=False, id="next_hunk"),
        Binding("y", "decide(True)", "accept", id="accept"),
        Binding("n", "decide(False)", "reject", id="reject"),
        Binding("a", "decide_all(True)", "accept all", id="accept_all"),
        Binding("r", "decide_all(False)", "reject all", id="reject_all"),
        Binding("f", "jump_file(1)", "next file", id="next_file"),
        Binding("F", "jump_file(-1)", "previous file", id="previous_file"),
        Binding("enter", "confirm", "confirm", id="confirm"),
    ]

    class Confirmed(Message):
        """Posted when the user confirms the decisions."""

    def __init__(self, review: ReviewAsked, *, purpose: ReviewPurpose = "deliver") -> None:
        super().__init__()
        self._purpose = purpose
        edit_by_number = {edit.hunk: edit for edit in review.edits}
        comment_by_number = {comment.hunk: comment.text for comment in review.comments}
        self.choices = tuple(
            HunkChoice(
                hunk,
                edit_by_number.get(number, EditedHunk(hunk=number)),
                comment=comment_by_number.get(number, ""),
                droppable=number in review.droppable,
                accepted=review.accepted is None or number in review.accepted,
                purpose=purpose,
                is_rendered=number < FIRST_HUNKS,
            )
            for number, hunk in enumerate(split_git_diff(review.diff))
        )
        """The hunks, by their numbers."""
        self.files: dict[str, list[HunkChoice]] = {}
        """Hunks of each file, in their order."""
        for choice in self.choices:
            self.files.setdefault(choice.hunk.path, []).append(choice)

    def compose(self) -> ComposeResult:
        yield from self.choices

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._render_visible_hunks()

    def on_resize(self) -> None:
        self.call_after_refresh(self._render_visible_hunks)

    def _render_visible_hunks(self) -> None:
        """Render the hunks that have come into view; smaller than expected, they bring further ones there."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        hidden = [choice for choice in self.choices if not choice.is_rendered]
        visible = [
            choice
            for choice in hidden
            if choice.virtual_region.y < bottom and choice.virtual_region.bottom > top
        ]
        for choice in visible:
            choice.show_lines()
        if visible:
            self.call_after_refresh(self._render_visible_hunks)
        if (focused := self.screen.focused) in visible:
            focused.call_after_refresh(focused.scroll_visible, animate=False)

    def check_action(self, action: str, _: tuple[object, ...]) -> bool | None:
        """Offer decisions where there is something to decide."""
        return self._purpose != "read" or action not in ("decide", "decide_all", "confirm")

    def show_file(self, path: str) -> None:
        """Focus the first hunk of a file."""
        self.files[path][0].focus()

    def action_move(self, step: int) -> None:
        """Focus the next or the previous hunk, after the last one the first."""
        choices, focused = self.choices, self.screen.focused
        if isinstance(focused, HunkChoice):
            choices[(choices.index(focused) + step) % len(choices)].focus()

    def action_jump_file(self, step: int) -> None:
        """Focus the first hunk of the next or the previous file."""
        paths = [*self.files]
        focused = self.screen.focused
        here = focused.hunk.path if isinstance(focused, HunkChoice) else paths[0]
        place = paths.index(here) + step
        if 0 <= place < len(paths):
            self.show_file(paths[place])

    def action_decide(self, accepted: bool) -> None:
        """Decide on the focused hunk, and go on to the next one if there is one."""
        if isinstance(focused := self.screen.focused, HunkChoice):
            focused.decide(accepted=accepted)
            if focused is not self.choices[-1]:
                self.action_move(1)

    def action_decide_all(self, accepted: bool) -> None:
        with self.prevent(HunkChoice.Decided):
            for choice in self.choices:
                choice.decide(accepted=accepted)
        self.post_message(HunkChoice.Decided())

    def action_confirm(self) -> None:
        self.post_message(self.Confirmed())
