"""Limits the time that one test takes in this process; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


def begin(seconds: float, waiting: float, handler: Callable[[int, FrameType | None], None]) -> None:
    """Call a handler, again and again, once so much processor time has been used, or so many seconds have passed.

    What waits for what never comes uses no processor time.
    """
    for number, timer, limit in (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, waiting),
    ):
        signal.signal(number, handler)
        signal.setitimer(timer, limit, 0.1)


def end() -> None:
    """From here on time does not count."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
