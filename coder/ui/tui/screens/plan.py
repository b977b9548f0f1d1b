"""The plan before it is run, for the person to edit."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from coder.core.notes import Plan
from coder.core.values.plan import read, written
from coder.core.values.text import printable
from coder.ui.tui.screens.question import DEAF_SECONDS

KEYS = "edit as you like · ctrl+s run it · ctrl+r refuse it · esc stop"


class Wanted(NamedTuple):
    """What the person wants done."""

    plan: Plan | None
    """None: nothing."""


class PlanScreen(ModalScreen[Wanted]):
    """Dismisses with the plan as it stands in the editor; one that cannot be understood stays there."""

    CSS_PATH = "plan.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "run it"),
        Binding("ctrl+r", "refuse", "refuse it"),
        Binding("escape", "app.stop", "stop"),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._text = printable(written(plan))

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        yield TextArea(self._text, soft_wrap=True, compact=True, highlight_cursor_line=False)
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        self.on_text_area_changed()
        self.set_timer(DEAF_SECONDS, self.query_one(TextArea).focus)

    def on_text_area_changed(self) -> None:
        """Say with each change what would be run."""
        try:
            plan = self._edited()
        except ValueError as error:
            self._tell(f"Not to be run yet: {error}", wrong=True)
        else:
            count = f"{len(plan.steps)} step{'s' * (len(plan.steps) != 1)}"
            self._tell(
                f"Plan: ctrl+s runs {'it as it is' if plan == self._plan else 'what you changed'}, {count}",
                wrong=False,
            )

    def action_accept(self) -> None:
        try:
            plan = self._edited()
        except ValueError:
            return  # what is wrong stands above the text already
        self.dismiss(Wanted(plan))

    def action_refuse(self) -> None:
        self.dismiss(Wanted(None))

    def _edited(self) -> Plan:
        """The plan in the editor; the one that was asked about, to the letter, where nothing was changed."""
        text = self.query_one(TextArea).text
        return self._plan if text == self._text else read(text)

    def _tell(self, text: str, *, wrong: bool) -> None:
        self.query_one("#outcome", Static).set_class(wrong, "wrong").update(text)
