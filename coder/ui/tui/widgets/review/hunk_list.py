"""Widget for the hunks of a review, with decisions on all of them."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from coder.patching.git_hunks import split_git_diff
from coder.ui.tui.widgets.review.hunk_choice import HunkChoice
from coder.ui.tui.widgets.review.vim_scroll import VimScroll


class HunkList(VimScroll, can_focus=False):
    """List of hunks; its keys work while one of its hunks has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "decide(True)", "accept all"),
        Binding("r", "decide(False)", "reject all"),
        Binding("f", "jump_file(1)", "next file"),
        Binding("F", "jump_file(-1)", "previous file"),
        Binding("enter", "confirm", "confirm"),
    ]

    class Confirmed(Message):
        """Posted when the user confirms the decisions."""

    def __init__(
        self, diff: str, droppable: tuple[int, ...] = (), *, accepted: tuple[int, ...] | None = None
    ) -> None:
        """Take `droppable`, the numbers of hunks whose removal changes no verdict, and those `accepted`."""
        super().__init__()
        self._accepted = accepted
        self._diff = diff
        self._droppable = droppable

    def compose(self) -> ComposeResult:
        for number, hunk in enumerate(split_git_diff(self._diff)):
            is_accepted = self._accepted is None or number in self._accepted
            yield HunkChoice(hunk, droppable=number in self._droppable, accepted=is_accepted)

    @property
    def choices(self) -> tuple[bool, ...]:
        """Whether each hunk is accepted, by its number."""
        return tuple(choice.accepted for choice in self.query(HunkChoice))

    @property
    def files(self) -> dict[str, list[HunkChoice]]:
        """Hunks of each file, in their order."""
        files: dict[str, list[HunkChoice]] = {}
        for choice in self.query(HunkChoice):
            files.setdefault(choice.hunk.path, []).append(choice)
        return files

    def show_file(self, path: str) -> None:
        """Focus the first hunk of a file."""
        self.files[path][0].focus()

    def action_jump_file(self, step: int) -> None:
        """Focus the first hunk of the next or the previous file."""
        paths = [*self.files]
        focused = self.screen.focused
        here = focused.hunk.path if isinstance(focused, HunkChoice) else paths[0]
        place = paths.index(here) + step
        if 0 <= place < len(paths):
            self.show_file(paths[place])

    def action_decide(self, accepted: bool) -> None:
        with self.prevent(HunkChoice.Decided):
            for choice in self.query(HunkChoice):
                choice.decide(accepted=accepted)
        self.post_message(HunkChoice.Decided())

    def action_confirm(self) -> None:
        self.post_message(self.Confirmed())
