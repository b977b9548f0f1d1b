"""Pytest plugins that limit the time of tests, order them, and report the first red one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import pytest


class TooLong(BaseException):
    """Raised when a test has used too much processor time.

    `except Exception` in the project does not catch it.
    """


def is_between_lines(frame: FrameType | None) -> bool:
    """Tell whether a frame is between two lines: pytest cannot show an exception raised there."""
    return frame is None or frame.f_lineno is None


class LimitPlugin:
    """Plugin that runs tests in the requested order and reports the first red one.

    It ends the run there if requested, or at a test that uses too much time.
    """

    def __init__(self, request: dict[str, Any] | None = None, say: Callable[..., None] | None = None) -> None:
        self.expired = self.red = False
        self.become(request or {"select": [], "in_order": False}, say)

    def become(self, request: dict[str, Any], say: Callable[..., None] | None = None) -> None:
        """Take over the settings of a request."""
        self.request = request
        self.say = say
        self.places = (
            {name: position for position, name in enumerate(request["select"])} if request["in_order"] else {}
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=self.place)

    def place(self, item: Any) -> int:
        """Return the position of a test in the requested order."""
        return self.places.get(item.nodeid, len(self.places))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, None, None]:
        self.seconds = self.request["limit"]
        previous = signal.signal(signal.SIGPROF, self.too_long)
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 0.1)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        if self.expired:
            item.session.shouldstop = "a test took too long"
        elif self.red and self.request["until_red"]:
            item.session.shouldstop = "a test is red"
            item.config.pluginmanager.get_plugin("coder_recorder").stopped = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self) -> None:
        if self.expired:  # it has ended, and making its report takes time as well
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not hasattr(report, "wasxfail"):
            self.hear(report.nodeid)

    def hear(self, red: str) -> None:
        """Report a test as red."""
        if not self.red and self.say is not None:
            self.say(red=red)
        self.red = True

    def too_long(self, _number: int, frame: FrameType | None) -> None:
        """Raise TooLong in the running test."""
        if is_between_lines(frame):
            return
        self.expired = True
        raise TooLong(f"the test has used {self.seconds:g} s of processor time, which is all that it may")


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
        """Raise TooLong in the running test."""
        if is_between_lines(frame):
            return
        self.expired = True
        raise TooLong(f"the test did not end within {self.seconds:.3g} s of processor time")
