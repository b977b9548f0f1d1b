"""Sees what a process executes and opens; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later.
"""

# ruff: noqa: PTH100 - a test may have replaced pathlib
from __future__ import annotations

import os
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any

STARTING = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "subprocess.Popen"})
SHOWING = 6
"""Frames from where a warning is made into text to where the source is opened for that."""
FORMAT = getattr(getattr(warnings, "_formatwarnmsg_impl", None), "__code__", None)


class Opened:
    """Hears of each file that is opened, from now on and in all forks: no hook can be taken back."""

    def __init__(self) -> None:
        self.paths: dict[Any, None] = {}
        """As they were given."""
        self.processes = False
        """Has another process been started?"""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "sqlite3.connect"):
            if isinstance(arguments[0], (str, bytes)) and not is_of_no_account(sys._getframe(1)):
                self.paths[arguments[0]] = None
        elif event in STARTING:
            self.processes = True

    def forget(self) -> None:
        self.paths, self.processes = {}, False

    def inside(self, tree: str) -> list[str]:
        """Those below `tree`, relative to it, in the order in which they were first opened."""
        return [path for path in dict.fromkeys(relative(os.fsdecode(path), tree) for path in self.paths) if path]


def is_of_no_account(frame: FrameType | None) -> bool:
    """The import system reads sources to execute them, which is seen otherwise; a warning shows the line that it is about."""
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    for _ in range(SHOWING):
        if frame is not None and frame.f_code is not FORMAT:
            frame = frame.f_back
    return frame is not None and frame.f_code is FORMAT


def relative(path: str, tree: str) -> str:
    """Empty for what does not lie below `tree`."""
    for form in (os.path.abspath(path), os.path.realpath(path)):
        if form.startswith(tree + os.sep):
            return form[len(tree) + 1 :]
    return ""


class Calls:
    """Sees each code that begins to run, once, in all threads."""

    def __init__(self) -> None:
        self.seen: dict[int, CodeType] = {}

    def start(self) -> None:
        self.seen = {}
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.settrace(self.enter)
            sys.settrace(self.enter)
            return
        self.tool = next(number for number in (4, 3, 5, 1, 2, 0) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(self.tool, "coder")
        monitoring.register_callback(self.tool, monitoring.events.PY_START, self.begin)
        monitoring.set_events(self.tool, monitoring.events.PY_START)
        monitoring.restart_events()

    def again(self) -> None:
        """Forget what has been seen."""
        self.seen = {}
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
        kept = sys.gettrace() == self.enter
        if kept:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type, unused-ignore]  # that is how it is taken back
        return kept

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> None:
        code = frame.f_code
        self.seen[id(code)] = code  # kept alive, so that no other code gets its id

    def begin(self, code: CodeType, _offset: int) -> Any:
        self.seen[id(code)] = code
        return sys.monitoring.DISABLE  # type: ignore[attr-defined, unused-ignore]  # not in every Python that reads this
