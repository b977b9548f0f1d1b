"""pytest plugins that end a test, or a run, where it has to end, and say what is red first; they run in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import pytest


class TooLong(BaseException):
    """A test has used more processor time than it may; no `except Exception` of the project keeps it alive."""


def is_nowhere(frame: FrameType | None) -> bool:
    """Between two lines? pytest cannot show what is raised there, and the next moment will do as well."""
    return frame is None or frame.f_lineno is None


class Limited:
    """Runs tests in the order asked for, and says which is red first; ends a run there if asked, or where one uses too much time."""

    def __init__(self, request: dict[str, Any] | None = None, say: Callable[..., None] | None = None) -> None:
        self.expired = self.red = False
        self.become(request or {"select": [], "in_order": False}, say)

    def become(self, request: dict[str, Any], say: Callable[..., None] | None = None) -> None:
        self.request = request
        self.say = say
        self.places = (
            {name: place for place, name in enumerate(request["select"])} if request["in_order"] else {}
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=self.place)

    def place(self, item: Any) -> int:
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
        if self.expired:  # it has ended, and what is told of it takes time as well
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not hasattr(report, "wasxfail"):
            self.hear(report.nodeid)

    def hear(self, red: str) -> None:
        """Of a red test."""
        if not self.red and self.say is not None:
            self.say(red=red)
        self.red = True

    def too_long(self, _number: int, frame: FrameType | None) -> None:
        if is_nowhere(frame):
            return
        self.expired = True
        raise TooLong(f"the test has used {self.seconds:g} s of processor time, which is all that it may")


class Endless:
    """Ends a test that uses far more processor time than any test that ends: it has failed where it was, and the others are run.

    Where the project has a use for the timer of its own, or runs its tests in another thread, nothing is done.
    """

    def __init__(self, floor: float, again: float, times: float, longest: float, most: float) -> None:
        """A test may use `floor` seconds, or `times` as many as the `longest` that ended; once one did not end `again` is the floor."""
        self.floor, self.again, self.times, self.longest, self.most = floor, again, times, longest, most
        self.expired = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        yield from self.watched()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        yield from self.watched()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        yield from self.watched()

    @property
    def seconds(self) -> float:
        return min(self.most, max(self.floor, self.times * self.longest))

    def watched(self) -> Generator[None, None, None]:
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL
        ):
            yield
            return
        self.expired, began = False, time.process_time()
        signal.signal(signal.SIGPROF, self.too_long)
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 0.1)
        yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        if self.expired:
            self.floor = min(self.floor, self.again)
        else:
            self.longest = max(self.longest, time.process_time() - began)

    def too_long(self, _number: int, frame: FrameType | None) -> None:
        if is_nowhere(frame):
            return
        self.expired = True
        raise TooLong(f"the test did not end within {self.seconds:.3g} s of processor time")
