"""A pytest plugin that writes which lines of the project each test executes, as JSON lines; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later. Loaded with `-p` beside coder_pytest_report, which says how the
tests ended. What to do comes from the JSON file named in CODER_TRACE_REQUEST.
"""

# A test may have replaced pathlib, and this must still write.
# ruff: noqa: PTH118, PTH123, B905
from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import unittest.case
from collections.abc import Callable, Generator
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest
from _pytest.assertion import rewrite

VARIABLE = "CODER_TRACE_REQUEST"
SHOWING = (
    (rewrite, "_saferepr"),
    (rewrite, "_call_reprcompare"),
    (rewrite, "_format_assertmsg"),
    (unittest.case, "safe_repr"),
)
"""What failing assertions call to show their values."""
COLLECTING = ((rewrite, "_rewrite_test"),)
"""What pytest does with each test file before it is executed: much, and nothing of it is the project's."""
MOST_AGAIN, MOST_CALLS = 20_000, 200_000
"""So many lines of one piece of the project's code in turn, and calls of any, bring one test nothing new: more takes the time of others."""
AGAIN_SECONDS = 1.0
"""Of processor time for a test once another one did not end: where one loops for ever, that others do as well is soon seen."""
REQUEST_FILE = os.environ.pop(VARIABLE, "")


class TooLong(BaseException):
    """One test has used more processor time than it may; no `except Exception` of the project keeps it alive."""


def pytest_configure(config: pytest.Config) -> None:
    if REQUEST_FILE:
        with open(REQUEST_FILE, encoding="utf-8") as file:
            config.pluginmanager.register(Tracing(json.load(file)), "coder_tracing")
        # One process: what runs in xdist's workers would be traced there, and told nowhere.
        config.option.dist, config.option.tx = "no", []


pytest_configure = pytest.hookimpl(tryfirst=True)(pytest_configure)


class Tracing:
    """Runs the failing tests first, then their neighbours while there is time, and writes one line for each."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        sources = {os.path.join(request["tree"], path): path for path in request["sources"]}
        self.tracer = Monitoring(sources) if hasattr(sys, "monitoring") else Settrace(sources)
        self.imported: dict[str, set[int]] = {}
        self.deadline = 0.0
        self.test_seconds: float = request["test_seconds"]
        SourceFileLoader.exec_module = self.apart(SourceFileLoader.exec_module)  # type: ignore[method-assign, assignment]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        self.hide(COLLECTING)
        self.tracer.go_on()
        yield
        self.tracer.pause()
        self.tell("")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        first = self.request["first"]
        items.sort(key=lambda item: distance(item.nodeid, first))

    def pytest_collection_finish(self) -> None:
        self.deadline = time.monotonic() + self.request["seconds"]
        self.hide(SHOWING)

    def hide(self, functions: tuple[tuple[Any, str], ...]) -> None:
        for module, name in functions:
            if hasattr(module, name):
                setattr(module, name, self.unseen(getattr(module, name)))

    def unseen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What is executed to show a value (`__repr__`, mostly) has nothing to do with why the assertion fails."""

        def wrapped(*arguments: Any) -> Any:
            self.tracer.pause()
            try:
                return function(*arguments)
            finally:
                self.tracer.go_on()

        return wrapped

    def apart(self, function: Callable[[Any, ModuleType], None]) -> Callable[[Any, ModuleType], None]:
        """What a module does when it is imported is done by none of the tests, though it be one that comes to import it."""

        def wrapped(loader: Any, module: ModuleType) -> None:
            state = self.tracer.turn(self.imported)
            try:
                function(loader, module)
            finally:
                self.tracer.turn_back(state)

        return wrapped

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, None, None]:
        self.tracer.restart()
        yield
        self.tell(item.nodeid)
        if time.monotonic() > self.deadline:
            item.session.shouldstop = "the time for tracing is over"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Each phase by itself: between them pytest and its plugins write their reports."""
        self.tracer.go_on()
        yield
        self.tracer.pause()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Generator[None, Any, None]:
        previous = signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, self.test_seconds, 0.2)
        self.tracer.go_on()
        outcome = yield
        self.tracer.pause()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        if isinstance((outcome.excinfo or [None, None])[1], TooLong):
            self.test_seconds = min(self.test_seconds, AGAIN_SECONDS)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        self.tracer.go_on()
        yield
        self.tracer.pause()

    def tell(self, nodeid: str) -> None:
        self.write(nodeid, self.tracer.lines)
        if self.imported:
            self.write("", self.imported)
            self.imported.clear()

    def write(self, nodeid: str, lines: dict[str, set[int]]) -> None:
        told = {"id": nodeid, "lines": {path: sorted(numbers) for path, numbers in lines.items() if numbers}}
        descriptor = os.open(self.request["lines"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(told).encode("ascii") + b"\n")
        os.close(descriptor)


def too_long(_number: int, frame: FrameType | None) -> None:
    if frame is None or frame.f_lineno is None:  # pytest cannot show what is raised between two lines
        return
    raise TooLong("the test has used all the processor time that it may")


def distance(nodeid: str, first: list[str]) -> tuple[int, int]:
    """The failing tests themselves, then those of their files, then those whose paths have the most in common with theirs."""
    for index, one in enumerate(first):
        if nodeid == one or nodeid.startswith((one + "[", one + "::")):
            return (0, index)
    path = nodeid.split("::")[0]
    if any(path == item.split("::")[0] for item in first):
        return (1, 0)
    return (2, -max((shared(path, item) for item in first), default=0))


def shared(path: str, other: str) -> int:
    """How many characters two paths begin with in common: names alike are near, too."""
    return next(
        (index for index, (one, two) in enumerate(zip(path, other)) if one != two), min(len(path), len(other))
    )


class Monitoring:
    """Sees each line once a test, with the means of Python 3.12 and later."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources
        self.lines: dict[str, set[int]] = {}
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]  # not in every Python that reads this
        self.tool = next(number for number in (4, 3, 5, 1, 2, 0) if self.monitoring.get_tool(number) is None)

    def restart(self) -> None:
        self.lines = {}

    def go_on(self) -> None:
        self.monitoring.use_tool_id(self.tool, "coder")
        self.monitoring.register_callback(self.tool, self.monitoring.events.LINE, self.line)
        self.monitoring.set_events(self.tool, self.monitoring.events.LINE)
        self.monitoring.restart_events()

    def line(self, code: CodeType, number: int) -> Any:
        path = self.sources.get(code.co_filename)
        if path is not None:
            self.lines.setdefault(path, set()).add(number)
        return self.monitoring.DISABLE

    def turn(self, lines: dict[str, set[int]]) -> Any:
        """Add what is seen from now on to other lines; comes back with what takes it back."""
        state, self.lines = self.lines, lines
        return state

    def turn_back(self, state: Any) -> None:
        self.lines = state
        self.monitoring.restart_events()

    def pause(self) -> None:
        self.monitoring.set_events(self.tool, 0)
        self.monitoring.free_tool_id(self.tool)


class Settrace:
    """Sees the lines that are executed, which is slow, with what every Python has.

    Code that has been seen often without a new line is no longer looked at in the same test; nor is anything, in the end.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources
        self.restart()

    def restart(self) -> None:
        self.lines: dict[str, set[int]] = {}
        self.seeing: dict[CodeType, Callable[..., Any] | None] = {}
        self.calls = 0

    def go_on(self) -> None:
        threading.settrace(self.enter)
        sys.settrace(self.enter)

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        path = self.sources.get(code.co_filename)
        if path is None:
            return None
        self.calls += 1
        if self.calls > MOST_CALLS:
            sys.settrace(None)
        if code not in self.seeing:
            self.seeing[code] = self.of(code, self.lines.setdefault(path, set()))
            frame.f_trace_lines = True  # of a generator that another test has seen enough of
        return self.seeing[code]

    def of(self, code: CodeType, lines: set[int]) -> Callable[..., Any]:
        """What sees the lines of one piece of code, and stops where there is nothing new."""
        seeing, known, again = self.seeing, set(), 0

        def see(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
            nonlocal again
            if event == "line":
                number = frame.f_lineno
                if number not in known:
                    known.add(number)
                    lines.add(number)
                    again = self.calls = 0
                elif again < MOST_AGAIN:
                    again += 1
                else:
                    seeing[code] = None
                    frame.f_trace_lines = False
            return see

        return see

    def turn(self, lines: dict[str, set[int]]) -> Any:
        """Add what is seen from now on to other lines; comes back with what takes it back."""
        state = self.lines, self.seeing
        self.lines, self.seeing = lines, {}
        return state

    def turn_back(self, state: Any) -> None:
        self.lines, self.seeing = state

    def pause(self) -> None:
        sys.settrace(None)
        threading.settrace(None)
