"""Early end of large test runs at the user's request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock


class Cutoff:
    """The large test runs in progress that the user may cut short; used from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cuts: list[Event] = []
        self.on_change: Callable[[bool], None] = lambda _is_possible: None
        """Called from any thread when it becomes possible, or impossible, to cut a run short."""

    @contextmanager
    def offer(self, cut: Event) -> Iterator[None]:
        """Let the user cut short what the block runs, which ends when `cut` is set."""
        with self._lock:
            self._cuts.append(cut)
        self.on_change(True)
        try:
            yield
        finally:
            with self._lock:
                self._cuts = [other for other in self._cuts if other is not cut]
                is_possible = bool(self._cuts)
            self.on_change(is_possible)

    def request(self) -> bool:
        """Cut short all runs in progress; return False if there are none."""
        with self._lock:
            cuts, self._cuts = self._cuts, []
        for cut in cuts:
            cut.set()
        if cuts:
            self.on_change(False)
        return bool(cuts)
