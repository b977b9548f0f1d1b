"""Observation of executed code and opened files in a process."""

# ruff: noqa: PTH100, PTH118, PTH120 - a test may have replaced pathlib
from __future__ import annotations

import os
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any

PROCESS_EVENTS = frozenset(
    {
        *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"),
        "subprocess.Popen",
    }
)
SHOWING = 6
"""Frames between formatting a warning and opening its source."""
CONSTANTS = os.sep + os.path.join("hypothesis", "internal", "constants_ast.py")
REWRITER = os.path.join("_pytest", "assertion", "rewrite.py")
EXAMPLES = os.path.join(os.path.dirname(os.__file__), "doctest.py")
FORMAT = getattr(getattr(warnings, "_formatwarnmsg_impl", None), "__code__", None)


class OpenedFiles:
    """Audit hook that records every opened file, in this process and all forks; it cannot be removed."""

    def __init__(self) -> None:
        self.paths: dict[Any, bool] = {}
        """Path as passed -> whether it was only read for its constants."""
        self.processes = False
        """Whether another process was started."""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event."""
        if event in ("open", "sqlite3.connect"):
            path, frame = arguments[0], sys._getframe(1)
            if isinstance(path, (str, bytes)) and not is_irrelevant(frame):
                self.paths[path] = self.paths.get(path, True) and is_for_constants(frame)
        elif event in PROCESS_EVENTS:
            self.processes = True

    def forget(self) -> None:
        """Discard all observations."""
        self.paths, self.processes = {}, False

    def inside(self, tree: str, *, guessing: bool = True) -> list[str]:
        """Return the opened files below `tree`, relative to it, in the order of their first opening.

        If no test is `guessing` its input, files that were only read for their constants are left out.
        """
        paths = [path for path, for_constants in self.paths.items() if guessing or not for_constants]
        files = [path for path in dict.fromkeys(relative(os.fsdecode(path), tree) for path in paths) if path]
        return [
            path for path in files if path == path.encode(errors="ignore").decode()
        ]  # only files with names in UTF-8 are edited


def is_irrelevant(frame: FrameType | None) -> bool:
    """Tell whether a file is opened by an import, to show a warning, or to find doctest examples.

    Imports are observed in another way; the others only read a line number or line.
    """
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    for _ in range(SHOWING):
        if frame is not None and not is_quoting(frame):
            frame = frame.f_back
    return frame is not None and is_quoting(frame)


def is_quoting(frame: FrameType) -> bool:
    """Tell whether a frame formats a warning, searches doctests, or imports with rewritten assertions."""
    return frame.f_code is FORMAT or is_finding_examples(frame) or frame.f_code.co_filename.endswith(REWRITER)


def is_finding_examples(frame: FrameType) -> bool:
    """Tell whether a frame belongs to doctest's search for examples."""
    return frame.f_code.co_name == "find" and frame.f_code.co_filename == EXAMPLES


def is_for_constants(frame: FrameType | None) -> bool:
    """Tell whether Hypothesis reads the file to collect constants.

    It does so for all sources of a project, to generate better inputs.
    """
    for _ in range(SHOWING):
        if frame is not None and not frame.f_code.co_filename.endswith(CONSTANTS):
            frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.endswith(CONSTANTS)


def relative(path: str, tree: str) -> str:
    """Return a path relative to the tree, empty if it lies outside."""
    for form in (os.path.abspath(path), os.path.realpath(path)):
        if form.startswith(tree + os.sep):
            return form[len(tree) + 1 :]
    return ""


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
            self.again()
            threading.setprofile(self.enter)
            self.profile()
            return
        self.seen = {}
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

    def again(self) -> None:
        """Continue as if no code had run so far."""
        self.seen = {}
        for profiler in [*self.profilers.values()]:
            profiler.clear()
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.restart_events()

    def keep_on(self) -> bool:
        """Continue to record if another tool took over; return False if so, since code was missed."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            is_kept = bool(monitoring.get_tool(self.tool) == "coder")
            if not is_kept:
                self.start()
            return is_kept
        is_kept = sys.getprofile() is self.profilers.get(threading.get_ident())
        if not is_kept:
            threading.setprofile(self.enter)
            self.profile()
        return is_kept

    def stop(self) -> bool:
        """Stop recording; return False if another tool took over meanwhile, so that code was missed."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.set_events(self.tool, 0)
            monitoring.free_tool_id(self.tool)
            return True
        threading.setprofile(None)  # type: ignore[arg-type, unused-ignore]  # removes the profiler
        profiler = self.profilers[threading.get_ident()]
        is_kept = sys.getprofile() is profiler
        if is_kept:
            profiler.disable()
        return is_kept

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
