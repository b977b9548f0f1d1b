"""Screen with all commands and keys."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from coder.ui.tui.commands import help_lines
from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.widgets.review.vim_scroll import VimScroll


class HelpText(VimScroll):
    """Scrolls line by line as well."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]


class HelpScreen(ModalScreen[None]):
    """Scrolls with the arrow keys, or as vim does; closes with Esc."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q,enter,question_mark", "dismiss", "close")]

    def __init__(self, keys: KeyBindings) -> None:
        super().__init__()
        self._key_bindings = keys

    def compose(self) -> ComposeResult:
        with HelpText(id="help"):
            yield Static("\n".join(help_lines(self._key_bindings)), markup=False)
        yield Static("up, down scroll · esc close", id="keys", markup=False)
