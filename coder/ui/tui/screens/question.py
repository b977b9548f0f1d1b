"""Screen for a question of the session."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from coder.core.events import QuestionAsked
from coder.core.values.text import sanitize_text
from coder.ui.tui.keys import find_key_bindings
from coder.ui.tui.screens.dialog import Dialog

MOST_NUMBERS = 9


class ChosenOption(NamedTuple):
    """The user's answer to a question."""

    option: str
    instruction: str = ""
    """What the model should do instead."""


class AnswerList(OptionList):
    """Options without a way from the first to the last: what is allowed for good is not chosen by a slip."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "screen.agree", "yes", id="accept"),
        Binding("n", "screen.decline", "no", id="reject"),
        *(Binding(str(number), f"screen.choose({number})") for number in range(1, MOST_NUMBERS + 1)),
    ]

    def action_cursor_up(self) -> None:
        if self.highlighted:
            super().action_cursor_up()

    def action_cursor_down(self) -> None:
        if self.highlighted != self.option_count - 1:
            super().action_cursor_down()
        else:
            for instruction in self.screen.query(Instruction):
                instruction.focus()


class Instruction(Input):
    """Line for what the model should do instead."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("up", "app.focus_previous", show=False)]

    def __init__(self) -> None:
        super().__init__(placeholder="no, do this instead: …", compact=True)


class QuestionScreen(Dialog[ChosenOption]):
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
            yield AnswerList(*map(Option, self._question.options), markup=False)
            if self._question.takes_instruction:
                yield Instruction()
            yield Static(self._keys, id="keys", markup=False)

    @property
    def _keys(self) -> str:
        options, keys = self._question.options, find_key_bindings(self)
        yes = f"{keys.label('accept')} {options[0]}"
        agree = yes if self._is_yes_or_no else f"1-{min(len(options), MOST_NUMBERS)}"
        return f"up, down, enter · {agree} · {keys.label('reject')} or esc {self._question.default}"

    @property
    def _is_yes_or_no(self) -> bool:
        """True if the first option agrees and the last one declines."""
        has_two = len(self._question.options) == 2 or self._question.takes_instruction
        return has_two and self._question.default == self._question.options[-1]

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = self._question.options.index(self._question.default)

    def focus_first(self) -> None:
        self.query_one(OptionList).focus()

    def action_agree(self) -> None:
        """Choose the first option of a question that can be declined."""
        if self._is_yes_or_no:
            self.dismiss(ChosenOption(self._question.options[0]))

    def action_decline(self) -> None:
        """Choose the option that is used when nobody answers."""
        self.dismiss(ChosenOption(self._question.default))

    def action_choose(self, number: int) -> None:
        """Choose an option by its number, from 1."""
        if number <= len(self._question.options):
            self.dismiss(ChosenOption(self._question.options[number - 1]))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(ChosenOption(self._question.options[event.option_index]))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Decline, and say what to do instead."""
        if instruction := event.value.strip():
            self.dismiss(ChosenOption(self._question.default, instruction))
