"""Screen on which the user reviews and edits a plan."""

from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from coder.core.notes import Plan
from coder.core.values.plan import format_plan, parse_plan
from coder.core.values.text import sanitize_text
from coder.ui.tui.keys import find_key_bindings
from coder.ui.tui.screens.dialog import Dialog

KEYS = "edit as you like · {save} run it · {refuse} refuse it · esc stop"
"""Hint, with names of bindings instead of their keys."""


class PlanDecision(NamedTuple):
    """The user's decision on a plan."""

    plan: Plan | None
    """None: the plan is refused."""


class PlanScreen(Dialog[PlanDecision]):
    """Dismisses with the plan in the editor; an invalid one stays there."""

    CSS_PATH = "plan.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "run it", id="save"),
        Binding("ctrl+r", "refuse", "refuse it", id="refuse"),
        Binding("escape", "app.stop", "stop"),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._text = sanitize_text(format_plan(plan))

    def compose(self) -> ComposeResult:
        yield Static(id="outcome", markup=False)
        yield TextArea(self._text, soft_wrap=True, compact=True, highlight_cursor_line=False)
        yield Static(find_key_bindings(self).fill(KEYS), id="keys", markup=False)

    def on_mount(self) -> None:
        self.on_text_area_changed()

    def focus_first(self) -> None:
        self.query_one(TextArea).focus()

    def on_text_area_changed(self) -> None:
        """Show after each change what would be run."""
        try:
            plan = self._read_plan()
        except ValueError as error:
            self._show_outcome(f"Not to be run yet: {error}", wrong=True)
        else:
            parts, noun = (plan.components, "component") if plan.components else (plan.steps, "step")
            count = f"{len(parts)} {noun}{'s' * (len(parts) != 1)}"
            save = find_key_bindings(self).label("save")
            self._show_outcome(
                f"Plan: {save} runs {'it as it is' if plan == self._plan else 'what you changed'}, {count}",
                wrong=False,
            )

    def action_accept(self) -> None:
        try:
            plan = self._read_plan()
        except ValueError:
            return  # the error is shown above the text already
        self.dismiss(PlanDecision(plan))

    def action_refuse(self) -> None:
        self.dismiss(PlanDecision(None))

    def _read_plan(self) -> Plan:
        """Return the plan in the editor; the original plan if nothing was changed."""
        text = self.query_one(TextArea).text
        if text == self._text:
            return self._plan
        plan = parse_plan(text)
        if bool(plan.components) != bool(self._plan.components):
            raise ValueError(f"it needs {'components' if self._plan.components else 'steps'}")
        return plan

    def _show_outcome(self, text: str, *, wrong: bool) -> None:
        self.query_one("#outcome", Static).set_class(wrong, "wrong").update(text)
