"""Widget for a tool call, folded to one line."""

import json
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from coder.core.messages import ToolCall, ToolMessage
from coder.core.values.text import sanitize_text
from coder.ui.lines import summarize_arguments
from coder.ui.tui.widgets.diff import render_diff_lines
from coder.ui.tui.widgets.fold import Fold


class CallFold(Fold):
    """Name, arguments and outcome of a call; inside, its whole arguments and output."""

    def __init__(self, call: ToolCall) -> None:
        title = Content.assemble(
            (call.name, "bold"), "  ", sanitize_text(summarize_arguments(call.arguments))
        )
        super().__init__(title, self._content_widgets, remark="running")
        self._call = call
        self._answer: ToolMessage | None = None

    def finish(self, answer: ToolMessage, seconds: float, *, refused: bool = False) -> None:
        """Show the outcome; the output is shown as the model saw it."""
        self._answer = answer
        self.set_class(not answer.ok, "failed")
        failure = "refused" if refused else f"failed {seconds:.1f} s"
        self.set_remark(f"{seconds:.1f} s" if answer.ok else failure)

    def _content_widgets(self) -> Iterable[Widget]:
        yield from _argument_widgets(self._call.arguments)
        if self._answer is not None:
            yield Static(sanitize_text(self._answer.text), classes="output", markup=False)


def _argument_widgets(arguments: str) -> Iterable[Widget]:
    try:
        values = json.loads(arguments)
    except json.JSONDecodeError:
        values = None
    if not isinstance(values, dict):
        yield Static(sanitize_text(arguments), classes="arguments", markup=False)
        return
    for name, value in values.items():
        if name == "diff" and isinstance(value, str):
            yield from render_diff_lines(value, path="")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield Static(sanitize_text(f"{name}: {text}"), classes="arguments", markup=False)
