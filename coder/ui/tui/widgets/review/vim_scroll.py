"""Scrollable list with the keys of vim."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll


class VimScroll(VerticalScroll):
    """Goes to both ends, and scrolls by half of its height."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "go_to_end(0)", "first", show=False, id="first_hunk"),
        Binding("G", "go_to_end(-1)", "last", show=False, id="last_hunk"),
        Binding("ctrl+d", "scroll_half(1)", "half a page down", show=False, id="half_page_down"),
        Binding("ctrl+u", "scroll_half(-1)", "half a page up", show=False, id="half_page_up"),
    ]

    def action_go_to_end(self, place: int) -> None:
        """Go to the first entry, or to the last one; to the end of the text if there are no entries."""
        if entries := [child for child in self.children if child.can_focus]:
            entries[place].focus()
        (self.scroll_end if place else self.scroll_home)(animate=False)

    def action_scroll_half(self, direction: int) -> None:
        self.scroll_relative(y=direction * self.size.height // 2, animate=False)
