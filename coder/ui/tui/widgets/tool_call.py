"""A call of a tool, folded to one line."""

import json
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from coder.core.messages import ToolCall, ToolMessage
from coder.core.values.text import printable
from coder.ui.lines import brief
from coder.ui.tui.widgets.diff import lines_of
from coder.ui.tui.widgets.fold import Fold


class CallFold(Fold):
    """Name and arguments, then how it went; inside, all that was asked and answered."""

    def __init__(self, call: ToolCall) -> None:
        title = Content.assemble((call.name, "bold"), "  ", printable(brief(call.arguments)))
        super().__init__(title, self._told, remark="running")
        self._call = call
        self._answer: ToolMessage | None = None

    def finish(self, answer: ToolMessage, seconds: float) -> None:
        """Say how it went; the output is shown as the model saw it."""
        self._answer = answer
        self.set_class(not answer.ok, "failed")
        self.remark(f"{seconds:.1f} s" if answer.ok else f"failed {seconds:.1f} s")

    def _told(self) -> Iterable[Widget]:
        yield from _asked(self._call.arguments)
        if self._answer is not None:
            yield Static(printable(self._answer.text), classes="output", markup=False)


def _asked(arguments: str) -> Iterable[Widget]:
    try:
        values = json.loads(arguments)
    except json.JSONDecodeError:
        values = None
    if not isinstance(values, dict):
        yield Static(printable(arguments), classes="arguments", markup=False)
        return
    for name, value in values.items():
        if name == "diff" and isinstance(value, str):
            yield from lines_of(value, path="")
        else:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield Static(printable(f"{name}: {shown}"), classes="arguments", markup=False)
