"""Status line of a session."""

import time
from collections.abc import Callable

from textual.widgets import Static


class StatusBar(Static):
    """Status of a session, its seconds, which tick while it runs, and the current activity."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Take `clock`, which counts seconds from any origin."""
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

    def begin(self, activity: str = "opening a session") -> None:
        """Show that a session is being opened, or another activity."""
        self._ticking, self._stopping = True, False
        self.show("", seconds=0.0, activity=activity)

    def show(self, status: str, *, seconds: float, activity: str) -> None:
        """Show a session's status at the given seconds since its start."""
        self._standing, self._seconds, self._doing = status, seconds, activity
        self._shown_at = self._clock()
        self._draw()

    def stop(self) -> None:
        """Show that the session is stopping, until it has ended."""
        self._stopping = True
        self._draw()

    def end(self) -> None:
        """Show nothing, because no session runs: its summary says how it ended."""
        self._ticking = self._stopping = False
        self._standing = self._doing = ""
        self._draw()

    def _draw(self) -> None:
        seconds = self._seconds + (self._clock() - self._shown_at if self._ticking else 0.0)
        elapsed = f"{seconds:.0f} s" if self._ticking or self._standing else ""
        doing = "stopping" if self._stopping else self._doing
        line = " · ".join(part for part in (self._standing, elapsed, doing) if part)
        if line != self.content:
            self.update(line, layout=False)
