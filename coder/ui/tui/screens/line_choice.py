"""Screen on which the user chooses the lines of a hunk."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from coder.core.values.hunk import Hunk
from coder.core.values.text import sanitize_text
from coder.ui.tui.keys import find_key_bindings
from coder.ui.tui.widgets.diff import colour_lines

KEYS = (
    "{turn}, {accept}/{reject} line · {accept_all}/{reject_all} all · {confirm} keep the choice · "
    "esc leave it as it was"
)
"""Hint, with names of bindings instead of their keys."""
MARKS = {True: "[x] ", False: "[ ] ", None: "    "}
STYLES = {"added": "on $success 15%", "removed": "on $error 15%", "kept": ""}
ANSI_STYLES = {"added": "ansi_green", "removed": "ansi_red"}


class LineList(OptionList):
    """Lines of a hunk; the changed ones can be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "turn", "take it or leave it", id="turn"),
        Binding("y", "choose(True)", "take it", id="accept"),
        Binding("n", "choose(False)", "leave it", id="reject"),
        Binding("a", "choose_all(True)", "take all", id="accept_all"),
        Binding("r", "choose_all(False)", "leave all", id="reject_all"),
        Binding("down,j", "cursor_down", show=False, id="next_hunk"),
        Binding("up,k", "cursor_up", show=False, id="previous_hunk"),
        Binding("enter", "select", "keep the choice", id="confirm"),
    ]

    def __init__(self, hunk: Hunk, omitted: tuple[int, ...]) -> None:
        super().__init__(markup=False)
        self._coloured_lines = [
            line for line in colour_lines(hunk.body, path=hunk.path) if line[0] != "about"
        ]
        """Kind and text of each line, without the heading and remarks on a missing newline."""
        self.chosen = {
            number: number not in omitted
            for number, (kind, _) in enumerate(self._coloured_lines)
            if kind != "kept"
        }
        """Whether each changed line is taken, by its number among the hunk's lines."""

    def on_mount(self) -> None:
        self.add_options(
            Option(self._prompt(number), disabled=number not in self.chosen)
            for number in range(len(self._coloured_lines))
        )
        self.highlighted = min(self.chosen)

    def action_turn(self) -> None:
        if self.highlighted is not None:
            self._choose(self.highlighted, taken=not self.chosen[self.highlighted])

    def action_choose(self, taken: bool) -> None:
        """Decide on a line, and go on to the next one."""
        if self.highlighted is not None:
            self._choose(self.highlighted, taken=taken)
            self.action_cursor_down()

    def action_choose_all(self, taken: bool) -> None:
        for number in self.chosen:
            self._choose(number, taken=taken)

    def _choose(self, number: int, *, taken: bool) -> None:
        self.chosen[number] = taken
        self.replace_option_prompt_at_index(number, self._prompt(number))

    def _prompt(self, number: int) -> Content:
        kind, text = self._coloured_lines[number]
        if self.app.native_ansi_color and kind != "kept":  # no colours of code on those of the cursor
            text = Content.styled(text.plain, ANSI_STYLES[kind])
        else:
            text = text.stylize_before(STYLES[kind])
        return Content(MARKS[self.chosen.get(number)]) + text


class LineChoiceScreen(ModalScreen[tuple[int, ...]]):
    """Dismisses with the numbers of the changed lines that are left out."""

    CSS_PATH = "editing.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "leave it as it was")]

    def __init__(self, hunk: Hunk, omitted: tuple[int, ...]) -> None:
        super().__init__()
        self._hunk = hunk
        self._omitted = omitted

    def compose(self) -> ComposeResult:
        yield Static(f"Lines of {sanitize_text(self._hunk.path)}", id="heading", markup=False)
        yield LineList(self._hunk, self._omitted)
        yield Static(find_key_bindings(self).fill(KEYS), id="keys", markup=False)

    def on_option_list_option_selected(self) -> None:
        chosen = self.query_one(LineList).chosen
        self.dismiss(tuple(number for number, taken in chosen.items() if not taken))
