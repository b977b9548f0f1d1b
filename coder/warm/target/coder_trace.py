"""Pytest plugin that writes the project lines that each test executes, as JSON lines.

Runs in the project's interpreter. Standard library only, Python 3.8 or later, pytest 6.2 or later. Loaded
with `-p` beside coder_pytest_report, which reports how the tests ended. The request is the JSON file named in
CODER_TRACE_REQUEST.
"""

# A test may have replaced pathlib, and this must still write.
# ruff: noqa: PTH123, RUF071 - like names are near, too
from __future__ import annotations

import json
import os
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
from coder_observe import ignore  # type: ignore[import-not-found]  # on the import path of the run
from coder_watch import RelativePaths  # type: ignore[import-not-found]

VARIABLE = "CODER_TRACE_REQUEST"
SHOWING = (
    (rewrite, "_saferepr"),
    (rewrite, "_call_reprcompare"),
    (rewrite, "_format_assertmsg"),
    (unittest.case, "safe_repr"),
)
"""Functions with which failing assertions show their values."""
COLLECTION_FUNCTIONS = ((rewrite, "_rewrite_test"),)
"""Functions with which pytest prepares each test file: slow, and no code of the project."""
MOST_AGAIN, MOST_CALLS = 20_000, 200_000
"""Limits of consecutive known lines of one code object, and of calls, per test: more would cost time without
new lines.
"""
REQUEST_FILE = os.environ.pop(VARIABLE, "")


def pytest_configure(config: pytest.Config) -> None:
    if REQUEST_FILE:
        with open(REQUEST_FILE, encoding="utf-8") as file:
            config.pluginmanager.register(TracePlugin(json.load(file)), "coder_tracing")
        # One process: traces of xdist's workers would be lost.
        config.option.dist, config.option.tx = "no", []


pytest_configure = pytest.hookimpl(tryfirst=True)(pytest_configure)


class TracePlugin:
    """Plugin that traces the failing tests, then their neighbours while time remains.

    It writes one line for each test.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        paths = RelativePaths(request["tree"], frozenset(request["sources"]))
        self.tracer = MonitoringTracer(paths) if hasattr(sys, "monitoring") else SettraceTracer(paths)
        self.imported: dict[str, set[int]] = {}
        self.deadline = 0.0
        SourceFileLoader.exec_module = self.attribute_lines_to_import(SourceFileLoader.exec_module)  # type: ignore[method-assign, assignment]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection(self) -> Generator[None, None, None]:
        self.exclude_from_tracing(COLLECTION_FUNCTIONS)
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
        self.exclude_from_tracing(SHOWING)

    def exclude_from_tracing(self, functions: tuple[tuple[Any, str], ...]) -> None:
        """Wrap functions so that code executed by them is not traced."""
        for module, name in functions:
            if hasattr(module, name):
                setattr(module, name, self.without_tracing(getattr(module, name)))

    def without_tracing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is not traced.

        Code executed to show a value (mostly `__repr__`) is unrelated to the failure of an assertion.
        """

        def wrapper(*arguments: Any) -> Any:
            self.tracer.pause()
            try:
                return function(*arguments)
            finally:
                self.tracer.go_on()

        return wrapper

    def attribute_lines_to_import(
        self, function: Callable[[Any, ModuleType], None]
    ) -> Callable[[Any, ModuleType], None]:
        """Return a function whose lines are attributed to the import.

        Otherwise they would count for the test that happens to import the module first.
        """

        def wrapper(loader: Any, module: ModuleType) -> None:
            state = self.tracer.turn(self.imported)
            try:
                function(loader, module)
            finally:
                self.tracer.turn_back(state)

        return wrapper

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, None, None]:
        self.tracer.restart()
        yield
        self.tell(item.nodeid)
        if time.monotonic() > self.deadline:
            item.session.shouldstop = "the time for tracing is over"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Trace each phase separately: in between, pytest and its plugins write their reports."""
        self.tracer.go_on()
        yield
        self.tracer.pause()

    pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup

    def tell(self, nodeid: str) -> None:
        """Write the lines of a test, and those of imports since the last one."""
        self.write(nodeid, self.tracer.lines)
        if self.imported:
            self.write("", self.imported)
            self.imported.clear()

    def write(self, nodeid: str, lines: dict[str, set[int]]) -> None:
        record = {
            "id": nodeid,
            "lines": {path: sorted(numbers) for path, numbers in lines.items() if numbers},
        }
        descriptor = os.open(self.request["lines"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(record).encode("ascii") + b"\n")
        os.close(descriptor)


def distance(nodeid: str, first: list[str]) -> tuple[bool, bool, int]:
    """Return a sort key: failing tests come first, then those of their files and of files with like paths."""
    path, files = nodeid.partition("::")[0], [test.partition("::")[0] for test in first]
    is_first = any(nodeid == test or nodeid.startswith((test + "[", test + "::")) for test in first)
    common = max((len(os.path.commonprefix([path, file])) for file in files), default=0)
    return not is_first, path not in files, -common


class MonitoringTracer:
    """Tracer that sees each line once per test, with sys.monitoring (Python 3.12 and later)."""

    def __init__(self, paths: RelativePaths) -> None:
        self.paths = paths
        self.lines: dict[str, set[int]] = {}
        self.monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]  # not in every Python that reads this
        self.tool = next(number for number in (4, 3, 5, 1, 2, 0) if self.monitoring.get_tool(number) is None)

    def restart(self) -> None:
        """Discard the recorded lines."""
        self.lines = {}

    def go_on(self) -> None:
        """Start or continue tracing."""
        self.monitoring.use_tool_id(self.tool, "coder")
        self.monitoring.register_callback(self.tool, self.monitoring.events.LINE, self.line)
        self.monitoring.set_events(self.tool, self.monitoring.events.LINE)
        self.monitoring.restart_events()

    def line(self, code: CodeType, number: int) -> Any:
        path = self.paths[code.co_filename]
        if path:
            self.lines.setdefault(path, set()).add(number)
        return self.monitoring.DISABLE

    def turn(self, lines: dict[str, set[int]]) -> Any:
        """Record into other lines from now on; return the previous state."""
        state, self.lines = self.lines, lines
        return state

    def turn_back(self, state: Any) -> None:
        self.lines = state
        self.monitoring.restart_events()

    def pause(self) -> None:
        self.monitoring.set_events(self.tool, 0)
        self.monitoring.free_tool_id(self.tool)


class SettraceTracer:
    """Tracer with sys.settrace, for every Python; slow.

    Code that ran often without a new line is no longer traced in the same test; eventually nothing is.
    """

    def __init__(self, paths: RelativePaths) -> None:
        self.paths = paths
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
        path = self.paths[code.co_filename]
        if not path:  # lines of Cython, where they are traced, call the answer, whatever it is
            return None if code.co_filename.endswith(".py") else ignore
        self.calls += 1
        if self.calls > MOST_CALLS:
            sys.settrace(None)
        if code not in self.seeing:
            self.seeing[code] = self.trace_function_for(code, self.lines.setdefault(path, set()))
            frame.f_trace_lines = True  # a generator may have been switched off during another test
        return self.seeing[code]

    def trace_function_for(self, code: CodeType, lines: set[int]) -> Callable[..., Any]:
        """Return a trace function for one code object that stops itself when no new lines appear."""
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
        """Record into other lines from now on; return the previous state."""
        state = self.lines, self.seeing
        self.lines, self.seeing = lines, {}
        return state

    def turn_back(self, state: Any) -> None:
        self.lines, self.seeing = state

    def pause(self) -> None:
        sys.settrace(None)
        threading.settrace(None)
