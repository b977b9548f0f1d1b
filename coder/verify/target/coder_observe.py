"""Sees whether a test's own function ran to its end, whatever the test runner says of it; it runs in the project's interpreter.

Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import inspect
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

MOST_LINES = 400
MONITORING: Any = getattr(sys, "monitoring", None)
SETTRACE, GETTRACE = sys.settrace, sys.gettrace
TOOLS = (4, 3, 5)
"""Numbers that no debugger, coverage tool or profiler has by convention."""


class Observer:
    """Watches one test function at a time: `seen` is None where nobody could watch, else how its body went."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] | None = None
        self.now: dict[str, Any] | None = None
        """What is seen while it is watched."""
        self.code: CodeType | None = None
        self.tool: int | None = None

    def begin(self, function: Any) -> None:
        """Watch the innermost function of `function`, which decorators may have wrapped."""
        self.seen = self.now = self.code = None
        innermost = inspect.unwrap(function) if callable(function) else None
        innermost = getattr(getattr(innermost, "hypothesis", None), "inner_test", innermost)
        if not isinstance(innermost, FunctionType):
            return
        self.code = innermost.__code__
        seen: dict[str, Any] = {"started": 0, "ended": 0, "lines": {}}
        if self.watch(seen):
            self.now = seen

    def end(self) -> None:
        """Stop watching; what somebody else has taken over meanwhile was not seen."""
        if self.now is not None and self.unwatch():
            self.seen = dict(self.now, lines=sorted(self.now["lines"])[:MOST_LINES])

    def watch(self, seen: dict[str, Any]) -> bool:
        if MONITORING is None:
            if GETTRACE() is not None:  # a debugger, or coverage
                return False
            self.hook = self.tracer(seen)
            SETTRACE(self.hook)
            return True
        self.tool = next((tool for tool in TOOLS if MONITORING.get_tool(tool) is None), None)
        if self.tool is None:
            return False
        MONITORING.use_tool_id(self.tool, "coder_observe")
        events = MONITORING.events
        counted = {events.PY_START: "started", events.PY_RETURN: "ended"}
        for event, name in counted.items():
            MONITORING.register_callback(
                self.tool, event, lambda _code, _at, *_value, name=name: count(seen, name)
            )
        MONITORING.register_callback(
            self.tool, events.LINE, lambda _code, line: seen["lines"].setdefault(line)
        )
        MONITORING.set_local_events(self.tool, self.code, events.PY_START | events.PY_RETURN | events.LINE)
        return True

    def unwatch(self) -> bool:
        if MONITORING is None:
            mine = bool(GETTRACE() is self.hook)
            if mine:
                SETTRACE(None)
            return mine
        mine = bool(MONITORING.get_tool(self.tool) == "coder_observe")
        if mine:
            MONITORING.set_local_events(self.tool, self.code, 0)
            MONITORING.free_tool_id(self.tool)
        return mine

    def tracer(self, seen: dict[str, Any]) -> Any:
        """Before Python 3.12: frames of other functions are left alone."""
        code, raised = self.code, False

        def inside(_frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal raised
            if event == "line":
                seen["lines"].setdefault(_frame.f_lineno)
            elif event == "return" and not raised:
                seen["ended"] += 1
            raised = event == "exception"
            return inside

        def entered(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal raised
            if frame.f_code is not code or event != "call":
                return None
            seen["started"] += 1
            raised = False
            return inside

        return entered


def count(seen: dict[str, Any], name: str) -> None:
    seen[name] += 1
