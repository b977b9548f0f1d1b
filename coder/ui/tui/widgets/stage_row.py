"""One stage of a build with the components in it, updated in place as they end."""

from textual.content import Content
from textual.widgets import Static

from coder.core.events import StageChanged
from coder.core.values.text import sanitize_text

MARKS = {"running": ("…", "$text-muted"), "done": ("✓", "$success"), "failed": ("✗", "$error")}


class StageRow(Static):
    """Shows a stage and the state of each component in it."""

    def __init__(self, stage: str) -> None:
        super().__init__(markup=False, classes="stage")
        self._stage = stage
        self._changes: dict[str, StageChanged] = {}

    def show_change(self, event: StageChanged) -> None:
        """Show the newest state of the stage, or of one component in it."""
        self._changes[event.component] = event
        whole = self._changes.get("")
        parts = [change for name, change in self._changes.items() if name]
        pieces: list[str | tuple[str, str]] = [(self._stage, "bold")]
        pieces += [" ", MARKS[whole.state]] if whole else []
        for change in parts:
            pieces += [f"  {change.component} ", MARKS[change.state]]
        remarks = [change.remark for change in (*parts, *([whole] if whole else [])) if change.remark]
        pieces += [f"  {sanitize_text('; '.join(remarks))}"] if remarks else []
        self.update(Content.assemble(*pieces))
