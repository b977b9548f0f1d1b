"""Time limits of single tests in this process.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


def begin(seconds: float, waiting: float, handler: Callable[[int, FrameType | None], None]) -> None:
    """Call the handler repeatedly after a limit of processor time (`seconds`) or wall time (`waiting`).

    A test that waits forever uses no processor time.
    """
    for number, timer, limit in (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, waiting),
    ):
        signal.signal(number, handler)
        signal.setitimer(timer, limit, 0.1)


def end() -> None:
    """Stop both timers."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
