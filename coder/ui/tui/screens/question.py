"""Screen for a question of the session."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from coder.core.events import QuestionAsked
from coder.core.values.text import sanitize_text
from coder.ui.tui.screens.dialog import Dialog


class AnswerList(OptionList):
    """Options without a way from the first to the last: what is allowed for good is not chosen by a slip."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "screen.agree", "yes"),
        Binding("n", "screen.decline", "no"),
    ]

    def action_cursor_up(self) -> None:
        if self.highlighted:
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()


class QuestionScreen(Dialog[str]):
    """Dismisses with one of the options; the default option is highlighted first."""

    CSS_PATH = "question.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "decline", "the safe answer"),
    ]

    def __init__(self, question: QuestionAsked) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(sanitize_text(self._question.text), id="text", markup=False)
            yield AnswerList(*(Option(option, id=option) for option in self._question.options), markup=False)
            yes = f" · y {self._question.options[0]}" if self._is_yes_or_no else ""
            keys = f"up, down, enter{yes} · n or esc {self._question.default}"
            yield Static(keys, id="keys", markup=False)

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = self._question.options.index(self._question.default)

    def focus_first(self) -> None:
        self.query_one(OptionList).focus()

    @property
    def _is_yes_or_no(self) -> bool:
        return self._question.default == self._question.options[-1]

    def action_agree(self) -> None:
        """Choose the first option of a question that can be declined."""
        if self._is_yes_or_no:
            self.dismiss(self._question.options[0])

    def action_decline(self) -> None:
        """Choose the option that is used when nobody answers."""
        self.dismiss(self._question.default)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._question.options[event.option_index])
