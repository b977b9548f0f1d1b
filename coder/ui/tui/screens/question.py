"""Screen for a question of the session."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from coder.core.events import QuestionAsked
from coder.core.values.text import sanitize_text

INPUT_DELAY_SECONDS = 0.4
"""Time during which typing is ignored, since it began before the screen appeared."""


class QuestionScreen(ModalScreen[str]):
    """Dismisses with one of the options; the default option is highlighted first."""

    CSS_PATH = "question.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "app.stop", "stop")]

    def __init__(self, question: QuestionAsked) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(sanitize_text(self._question.text), id="text", markup=False)
            yield OptionList(*(Option(option, id=option) for option in self._question.options), markup=False)
            yield Static("up, down, enter · esc stop", id="keys", markup=False)

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = self._question.options.index(self._question.default)
        self.set_timer(INPUT_DELAY_SECONDS, options.focus)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._question.options[event.option_index])
