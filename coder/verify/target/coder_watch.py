"""Sees what a process executes and opens; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: PTH100, PTH118, PTH120 - a test may have replaced pathlib
from __future__ import annotations

import os
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any

STARTING = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
SHOWING = 6
"""Frames from where a warning is made into text to where the source is opened for that."""
CONSTANTS = os.sep + os.path.join("hypothesis", "internal", "constants_ast.py")
EXAMPLES = os.path.join(os.path.dirname(os.__file__), "doctest.py")
FORMAT = getattr(getattr(warnings, "_formatwarnmsg_impl", None), "__code__", None)


class Opened:
    """Hears of each file that is opened, from now on and in all forks: no hook can be taken back."""

    def __init__(self) -> None:
        self.paths: dict[Any, bool] = {}
        """As they were given; was each read for its constants alone?"""
        self.processes = False
        """Has another process been started?"""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "sqlite3.connect"):
            path, frame = arguments[0], sys._getframe(1)
            if isinstance(path, (str, bytes)) and not is_of_no_account(frame):
                self.paths[path] = self.paths.get(path, True) and is_for_constants(frame)
        elif event in STARTING:
            self.processes = True

    def forget(self) -> None:
        self.paths, self.processes = {}, False

    def inside(self, tree: str, *, guessing: bool = True) -> list[str]:
        """Those below `tree`, relative to it, in the order in which they were first opened.

        Where no test is `guessing` its input, it is nothing to the tests that sources were read for their constants.
        """
        paths = [path for path, for_constants in self.paths.items() if guessing or not for_constants]
        found = [path for path in dict.fromkeys(relative(os.fsdecode(path), tree) for path in paths) if path]
        return [
            path for path in found if path == path.encode(errors="ignore").decode()
        ]  # no edit is of a file without a name in UTF-8


def is_of_no_account(frame: FrameType | None) -> bool:
    """The import system reads sources to execute them, which is seen otherwise; a warning shows the line that it is about, doctest says
    on which line an example stands.
    """
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    for _ in range(SHOWING):
        if frame is not None and frame.f_code is not FORMAT and not is_finding_examples(frame):
            frame = frame.f_back
    return frame is not None and (frame.f_code is FORMAT or is_finding_examples(frame))


def is_finding_examples(frame: FrameType) -> bool:
    return frame.f_code.co_name == "find" and frame.f_code.co_filename == EXAMPLES


def is_for_constants(frame: FrameType | None) -> bool:
    """Hypothesis takes constants out of all sources of a project once it is imported, to guess better inputs."""
    for _ in range(SHOWING):
        if frame is not None and not frame.f_code.co_filename.endswith(CONSTANTS):
            frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.endswith(CONSTANTS)


def relative(path: str, tree: str) -> str:
    """Empty for what does not lie below `tree`."""
    for form in (os.path.abspath(path), os.path.realpath(path)):
        if form.startswith(tree + os.sep):
            return form[len(tree) + 1 :]
    return ""


class Calls:
    """Sees each code that begins to run, in all threads, with what costs least: monitoring, or before Python 3.12 the profiler in C."""

    def __init__(self) -> None:
        self.seen: dict[int, CodeType] = {}
        self.profilers: dict[int, Any] = {}
        """One for each thread, kept when it has ended: one that is given up ends profiling in whatever thread that happens."""

    def start(self) -> None:
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            self.again({})
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
        """What has been seen so far, by id, all kept alive."""
        for profiler in [*self.profilers.values()]:
            for entry in profiler.getstats():
                self.seen[id(entry.code)] = entry.code
        for frame in (
            sys._current_frames().values() if self.profilers else ()
        ):  # a profiler knows of a call when it has ended
            inner: FrameType | None = frame
            while inner is not None:
                self.seen[id(inner.f_code)] = inner.f_code
                inner = inner.f_back
        return dict(self.seen)

    def again(self, seen: dict[int, CodeType]) -> None:
        """Have seen this so far, and nothing else."""
        self.seen = seen
        for profiler in [*self.profilers.values()]:
            profiler.clear()
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.restart_events()

    def stop(self) -> bool:
        """Returns False if something else had taken the place of this meanwhile, so that not all was seen."""
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            monitoring.set_events(self.tool, 0)
            monitoring.free_tool_id(self.tool)
            return True
        threading.setprofile(None)  # type: ignore[arg-type, unused-ignore]  # that is how it is taken back
        mine = self.profilers[threading.get_ident()]
        kept = sys.getprofile() is mine
        if kept:
            mine.disable()
        return kept

    def profile(self) -> None:
        """See what this thread calls from here on."""
        from _lsprof import Profiler

        self.profilers.setdefault(threading.get_ident(), Profiler(subcalls=False, builtins=False)).enable()

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> None:
        """In a thread that begins."""
        self.seen[id(frame.f_code)] = frame.f_code
        self.profile()

    def begin(self, code: CodeType, _offset: int) -> Any:
        self.seen[id(code)] = code
        return sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]  # not in every Python that reads this
