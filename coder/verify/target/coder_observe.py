"""Observation of whether a test's own function ran to its end, independent of the test runner."""

from __future__ import annotations

import inspect
import opcode
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

MONITORING: Any = getattr(sys, "monitoring", None)
SETTRACE, GETTRACE = sys.settrace, sys.gettrace
RETURN_VALUE = opcode.opmap["RETURN_VALUE"]
TOOLS = (4, 3, 5)
"""Tool ids that no debugger, coverage tool or profiler uses by convention."""


class Observer:
    """Observes one test function at a time.

    `seen` is None if observation was impossible, else how the body ran.
    """

    def __init__(self) -> None:
        self.seen: dict[str, Any] | None = None
        self.now: dict[str, Any] | None = None
        """Observations of the current test."""
        self.code: CodeType | None = None
        self.tool: int | None = None

    def begin(self, function: Any) -> None:
        """Observe the innermost function of `function`, which decorators may have wrapped."""
        self.seen = self.now = self.code = None
        innermost = inspect.unwrap(function) if callable(function) else None
        innermost = getattr(getattr(innermost, "hypothesis", None), "inner_test", innermost)
        if not isinstance(innermost, FunctionType):
            return
        self.code = innermost.__code__
        record: dict[str, Any] = {"started": 0, "ended": 0}
        if self.start_tracing(record):
            self.now = record

    def end(self) -> None:
        """Stop observing; if another tool took over meanwhile, nothing was observed."""
        if self.now is not None and self.stop_tracing():
            self.seen = dict(self.now)

    def start_tracing(self, record: dict[str, Any]) -> bool:
        """Start tracing; return whether that is possible."""
        if MONITORING is None:
            if GETTRACE() is not None:  # a debugger, or coverage
                return False
            self.hook = self.tracer(record)
            SETTRACE(self.hook)
            return True
        self.tool = next((tool for tool in TOOLS if MONITORING.get_tool(tool) is None), None)
        if self.tool is None:
            return False
        MONITORING.use_tool_id(self.tool, "coder_observe")
        events = MONITORING.events
        counters = {events.PY_START: "started", events.PY_RETURN: "ended"}
        for event, name in counters.items():
            MONITORING.register_callback(
                self.tool, event, lambda _code, _at, *_value, name=name: count(record, name)
            )
        MONITORING.set_local_events(self.tool, self.code, events.PY_START | events.PY_RETURN)
        return True

    def stop_tracing(self) -> bool:
        """Stop tracing; return whether this observer was still in place."""
        if MONITORING is None:
            is_own = bool(GETTRACE() is self.hook)
            if is_own:
                SETTRACE(None)
            return is_own
        is_own = bool(MONITORING.get_tool(self.tool) == "coder_observe")
        if is_own:
            MONITORING.set_local_events(self.tool, self.code, 0)
            MONITORING.free_tool_id(self.tool)
        return is_own

    def tracer(self, record: dict[str, Any]) -> Any:
        """Return a trace function for Python before 3.12; frames of other functions are not traced."""
        code = self.code

        def trace_body(frame: FrameType, event: str, _argument: Any) -> Any:
            # An exception that leaves the body is a return as well, from another instruction.
            if event == "return" and frame.f_code.co_code[frame.f_lasti] == RETURN_VALUE:
                record["ended"] += 1
            return trace_body

        def trace_calls(frame: FrameType, event: str, _argument: Any) -> Any:
            if frame.f_code is not code or event != "call":
                # Lines of Cython, where they are traced, call the answer, whatever it is.
                return None if frame.f_code.co_filename.endswith(".py") else ignore
            record["started"] += 1
            frame.f_trace_lines = False
            return trace_body

        return trace_calls


def ignore(_frame: FrameType, _event: str, _argument: Any) -> Any:
    """Trace function of frames about which nothing is to be known."""
    return ignore


def count(record: dict[str, Any], name: str) -> None:
    record[name] += 1
