"""Line that stands for the earlier events of a long session, and shows them in chunks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

if TYPE_CHECKING:
    from coder.core.events import Record

CHUNK = 100
"""Events that are shown at once: each costs about a millisecond."""


class EarlierRecords(Static, can_focus=True):
    """Asks for the events before those that are shown on Enter, a click, or when scrolled up to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "show", "show"),
        Binding("up,k", "app.focus_previous", show=False),
        Binding("down,j", "app.focus_next", show=False),
    ]

    class Wanted(Message):
        """Posted when the next chunk should be shown."""

        def __init__(self, earlier: "EarlierRecords") -> None:
            super().__init__()
            self.earlier = earlier

    def __init__(self, records: "Sequence[Record]") -> None:
        super().__init__(markup=False, classes="about")
        self._records = records
        self._is_asking = False

    def on_mount(self) -> None:
        self._show_count()

    def ask(self) -> None:
        """Ask for the next chunk, unless one is being shown."""
        if not self._is_asking:
            self._is_asking = True
            self.post_message(self.Wanted(self))

    def take_chunk(self) -> "Sequence[Record]":
        """Return the newest records that are not shown yet, and stand for those before them from now on."""
        chunk, self._records = self._records[-CHUNK:], self._records[:-CHUNK]
        self._show_count()
        return chunk

    def finish(self) -> None:
        """Be ready for the next chunk; without any, disappear."""
        self._is_asking = False
        if not self._records:
            self.remove()

    def _show_count(self) -> None:
        count = len(self._records)
        shown = "all" if count <= CHUNK else f"{CHUNK}"
        self.update(f"▸ {count:,} earlier events: enter, or scrolling up, shows {shown} of them")

    def action_show(self) -> None:
        self.ask()

    def on_click(self, event: Click) -> None:
        event.stop()
        self.ask()
