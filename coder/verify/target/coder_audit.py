"""Audit hook that detects access of the tested tree to the machinery that observes it.

Runs in the project's interpreter. Standard library only, Python 3.8 or later. An audit hook (PEP 578) cannot
be removed. Code in the same process could still evade it: it detects and names the usual ways.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any

ACCESS_EVENTS = frozenset(
    {
        *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._getframe"),
        *("sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile"),
        *("sys.addaudithook", "sys.monitoring.register_callback", "code.__new__", "function.__new__"),
        *("object.__setattr__", "object.__delattr__", "object.__getattr__"),
    }
)
OPEN_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})
PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
OF_PROCESSES = ("/proc/self", "/proc/thread-self", "/dev/fd")
SHOWN = 20
MACHINERY = (
    *("_pytest.runner", "_pytest.reports.TestReport", "_pytest.reports.CollectReport"),
    *("_pytest.python.Function", "_pytest.python", "_pytest.runner.CallInfo"),
    *("_pytest.unittest.TestCaseFunction", "_pytest.main.Session", "pluggy._hooks", "pluggy._manager"),
    *("pluggy._hooks.HookCaller", "pluggy._manager.PluginManager", "pluggy._callers"),
    *("unittest.case.TestCase", "unittest.case._Outcome", "unittest.result.TestResult"),
    *("unittest.suite.TestSuite", "unittest.suite.BaseTestSuite", "unittest.case", "_pytest.python_api"),
)
"""Modules and classes whose functions decide what a test's outcome is."""


HARMLESS = frozenset(("__doc__", "__module__", "__name__", "__qualname__"))
"""Attributes that only name an object; setting them is harmless."""


CLASSES_OF_MACHINERY = frozenset(("_pytest", "pytest", "pluggy", "unittest", "builtins", "types"))
"""Packages whose objects must keep their classes while tests run."""


class Audit:
    """Records which file of the tree accessed the machinery."""

    def __init__(self, tree: str, own: tuple[str, ...]) -> None:
        """Install the hook.

        `own` are our own files and directories: the rest of a run's directory belongs to the tests, as HOME
        and TMPDIR.
        """
        self.tree = tree.rstrip("/") + "/"
        self.own = own
        self.accesses: dict[str, None] = {}
        self.baseline: dict[str, Any] = {}
        self.has_started_processes = False
        """True once code of the tree started another process, of which nothing is seen here."""
        self.busy = False
        self.frame = sys._getframe
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in PROCESS_EVENTS:
            self.has_started_processes |= self.is_in_tree(self.frame(1))
        if (
            self.busy
            or is_harmless(event, arguments)
            or not (
                event in ACCESS_EVENTS
                or event.startswith("ctypes.")
                or (event in OPEN_EVENTS and self.is_ours(arguments[0]))
            )
        ):
            return
        self.busy = True
        try:
            self.record(event, self.frame(1))
        finally:
            self.busy = False

    def is_ours(self, path: Any) -> bool:
        return isinstance(path, str) and path.startswith(OF_PROCESSES + self.own)

    def is_in_tree(self, frame: FrameType | None) -> bool:
        while frame is not None and not frame.f_code.co_filename.startswith(self.tree):
            frame = frame.f_back
        return frame is not None

    def record(self, event: str, frame: FrameType | None) -> None:
        """Record the file of the tree that performed the access.

        Code without a file is attributed to its caller.
        """
        while frame is not None and frame.f_code.co_filename.startswith("<"):
            frame = frame.f_back
        if (
            frame is not None
            and not (event == "sys.settrace" and is_entered(frame))
            and frame.f_code.co_filename.startswith(self.tree)
            and len(self.accesses) < SHOWN
        ):
            self.accesses[f"{frame.f_code.co_filename[len(self.tree) :]}: {event}"] = None

    def keep(self) -> None:
        """Remember the functions of the machinery as they are now."""
        self.baseline = dict(machinery_functions())

    def findings(self) -> Iterable[str]:
        """Return the recorded accesses, including functions of the machinery replaced since `keep`."""
        for name, value in machinery_functions() if self.baseline else ():
            if self.baseline.get(name, value) != value and len(self.accesses) < SHOWN:
                self.accesses[f"replaced: {name}"] = None
        return [*self.accesses]


def is_harmless(event: str, arguments: tuple[Any, ...]) -> bool:
    """Tell whether an event only names an object, reads a code object, which is immutable, or gives an object
    of the project another class.
    """
    if not event.startswith("object.__"):
        return False
    if event == "object.__setattr__" and arguments[1] == "__class__":
        return type(arguments[0]).__module__.partition(".")[0] not in CLASSES_OF_MACHINERY
    return arguments[1] in HARMLESS or (event == "object.__getattr__" and arguments[1] == "__code__")


def is_entered(frame: FrameType) -> bool:
    """Tell whether a frame has only been entered, so that none of its own calls can have caused an event.

    The interpreter itself stops tracing there when the stack has no room for our trace function.
    """
    return frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] == opcode.opmap.get("RESUME")


def machinery_functions() -> Iterable[tuple[str, Any]]:
    """Yield name and (function, code) of each function of the loaded machinery."""
    for name in MACHINERY:
        holder = loaded_object(name)
        for key, value in list(vars(holder).items()) if holder is not None else ():
            function = (
                value.__func__
                if isinstance(value, (classmethod, staticmethod))
                else value.fget
                if isinstance(value, property)
                else value
            )
            if isinstance(function, FunctionType):
                yield f"{name}.{key}", (function, function.__code__)


def loaded_object(name: str) -> Any:
    """Return a module, or a class in one, by dotted name; None if it is not imported."""
    module, _, attribute = name.rpartition(".")
    candidate = sys.modules.get(name) or vars(sys.modules.get(module, ModuleType(""))).get(attribute)
    return candidate if isinstance(candidate, (ModuleType, type)) else None
