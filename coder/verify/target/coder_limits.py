"""Pytest plugin that limits the time of tests."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from types import FrameType

import pytest


class TooLong(BaseException):
    """Raised when a test has used too much processor time.

    `except Exception` in the project does not catch it.
    """


def is_between_lines(frame: FrameType | None) -> bool:
    """Tell whether a frame is between two lines: pytest cannot show an exception raised there."""
    return frame is None or frame.f_lineno is None


class EndlessTestPlugin:
    """Plugin that ends a test that uses far more processor time than any other, and runs the remaining ones.

    If the project uses the timer itself, or runs its tests in another thread, nothing is done.
    """

    def __init__(self, floor: float, again: float, times: float, longest: float, most: float) -> None:
        """Set the limits, in seconds of processor time.

        A test may use `floor`, or `times` as much as the `longest` that ended, at most `most`; once one did
        not end, `again` is the floor.
        """
        self.floor, self.again, self.times, self.longest, self.most = floor, again, times, longest, most
        self.expired = False

    @property
    def seconds(self) -> float:
        """Current limit in seconds of processor time."""
        return min(self.most, max(self.floor, self.times * self.longest))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        """Limit the processor time of one phase of a test."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL
        ):
            yield
            return
        self.expired, start = False, time.process_time()
        signal.signal(signal.SIGPROF, self.too_long)
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 0.1)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        if self.expired:
            self.floor = min(self.floor, self.again)
        else:
            self.longest = max(self.longest, time.process_time() - start)

    pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call

    def too_long(self, _number: int, frame: FrameType | None) -> None:
        if is_between_lines(frame):
            return
        self.expired = True
        raise TooLong(f"the test did not end within {self.seconds:.3g} s of processor time")
