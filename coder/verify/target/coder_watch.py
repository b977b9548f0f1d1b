"""Observation of executed code in a process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection
from types import CodeType, FrameType
from typing import Any

REALPATH = os.path.realpath
"""Bound before a test may replace it."""


class RelativePaths(dict):  # type: ignore[type-arg]  # not generic in every Python that reads this
    """Paths relative to a directory by the name of a file, which may lead through links and `..`.

    Empty for a file outside of it, and for one that is not among the `wanted`.
    """

    def __init__(self, directory: str, wanted: Collection[str] | None = None) -> None:
        super().__init__()
        self.prefix = REALPATH(directory) + os.sep
        self.wanted = wanted

    def __missing__(self, name: str) -> str:
        path = REALPATH(name) if name.startswith(os.sep) else ""
        path = path[len(self.prefix) :] if path.startswith(self.prefix) else ""
        self[name] = found = path if self.wanted is None or path in self.wanted else ""
        return found


class ExecutedCode:
    """Records each code object that starts to run, in all threads, with little overhead.

    It uses monitoring, or before Python 3.12 the profiler in C.
    """

    def __init__(self) -> None:
        self.seen: dict[int, CodeType] = {}
        self.profilers: dict[int, Any] = {}
        """One per thread, kept after its end: a deleted profiler would end profiling in the current thread.
        """

    def start(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.setprofile(self.enter)
            self.profile()
            return
        self.tool = next(number for number in (4, 3, 5, 1, 2, 0) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self.tool, "coder")
        monitoring.register_callback(self.tool, monitoring.events.PY_START, self.begin)
        monitoring.set_events(self.tool, monitoring.events.PY_START)
        monitoring.restart_events()

    def now(self) -> dict[int, CodeType]:
        """Return the code objects recorded so far, by id; all are kept alive."""
        for profiler in [*self.profilers.values()]:
            for entry in profiler.getstats():
                self.seen[id(entry.code)] = entry.code
        for frame in (
            sys._current_frames().values() if self.profilers else ()
        ):  # a profiler counts a call only when it ends
            inner: FrameType | None = frame
            while inner is not None:
                self.seen[id(inner.f_code)] = inner.f_code
                inner = inner.f_back
        return dict(self.seen)

    def stop(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.set_events(self.tool, 0)
            monitoring.free_tool_id(self.tool)
            return
        threading.setprofile(None)  # type: ignore[arg-type, unused-ignore]  # removes the profiler
        profiler = self.profilers[threading.get_ident()]
        if sys.getprofile() == profiler:
            profiler.disable()

    def profile(self) -> None:
        """Record the calls of this thread from now on."""
        from _lsprof import Profiler

        self.profilers.setdefault(threading.get_ident(), Profiler(subcalls=False, builtins=False)).enable()

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> None:
        """Start recording in a new thread."""
        self.seen[id(frame.f_code)] = frame.f_code
        self.profile()

    def begin(self, code: CodeType, _offset: int) -> Any:
        self.seen[id(code)] = code
        return sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]  # not in every Python that reads this
