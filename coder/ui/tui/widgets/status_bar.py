"""The line that says where things stand."""

import time
from collections.abc import Callable

from textual.widgets import Static


class StatusBar(Static):
    """Where a session stands, its seconds, which tick while it runs, and what is being done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` counts seconds from anywhere."""
        super().__init__(markup=False)
        self._clock = clock
        self._standing = ""
        self._seconds = 0.0
        self._doing = ""
        self._shown_at = 0.0
        self._ticking = False
        self._stopping = False

    def on_mount(self) -> None:
        self.set_interval(1, self._draw)

    def begin(self) -> None:
        """A session is being opened."""
        self._ticking, self._stopping = True, False
        self.show("", seconds=0.0, doing="opening a session")

    def show(self, standing: str, *, seconds: float, doing: str) -> None:
        """Show a session's standing at so many seconds since its start."""
        self._standing, self._seconds, self._doing = standing, seconds, doing
        self._shown_at = self._clock()
        self._draw()

    def stop(self) -> None:
        """The person wants it to end: until it does, nothing else is said to be done."""
        self._stopping = True
        self._draw()

    def end(self) -> None:
        """Nothing runs any more."""
        self._ticking = self._stopping = False
        self._doing = ""
        self._draw()

    def _draw(self) -> None:
        seconds = self._seconds + (self._clock() - self._shown_at if self._ticking else 0.0)
        elapsed = f"{seconds:.0f} s" if self._ticking or self._standing else ""
        doing = "stopping" if self._stopping else self._doing
        line = " · ".join(part for part in (self._standing, elapsed, doing) if part)
        if line != self.content:
            self.update(line, layout=False)
