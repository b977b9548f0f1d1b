"""Record of which of the changed lines run while tests do.

Runs in the project's interpreter. Standard library only, Python 3.8 or later.
"""

# ruff: noqa: PTH114, PTH118, PTH119, PTH123 - nothing is imported that the project may have a module for
from __future__ import annotations

import dis
import os
import sys
import threading
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from coder_observe import ignore  # type: ignore[import-not-found]  # on the import path of the run

MONITORING: Any = getattr(sys, "monitoring", None)
SETTRACE, GETTRACE = sys.settrace, sys.gettrace
MOST_CALLS = 1_000_000
"""Before Python 3.12 each call costs time while lines are watched, of whatever function: after so many before
the first test, and so many again from there on, what else runs is unknown.
"""
COMPILED = (".so", ".pyd")
IN_FUNCTION = 1
"""Flag of the code of a function: lines of modules and classes run when these are imported."""


class LineRecorder:
    """Notes which of some lines of functions run in this process, in all threads.

    It uses monitoring, or before Python 3.12 a trace function that ends once all of the lines have run.
    """

    def __init__(self, tree: str, lines: dict[str, list[int]]) -> None:
        self.paths = {os.path.join(tree, path): path for path in lines}
        self.functions = {file: find_lines(file) for file in self.paths}
        """Lines of each function by its first one, by file."""
        self.watched = {
            path: {line for part in self.functions[file].values() for line in part} & {*lines[path]}
            for file, path in self.paths.items()
        }
        self.left = {path: {*numbers} for path, numbers in self.watched.items()}
        self.calls = 0
        self.is_known = False
        self.is_in_tests = False

    def start(self) -> None:
        """Begin to watch, unless a debugger or a coverage tool does."""
        if not any(self.left.values()):
            return
        if MONITORING is not None:
            self.is_known = self.monitor()
        elif GETTRACE() is None:
            self.is_known = True
            threading.settrace(self.enter)
            SETTRACE(self.enter)

    def begin_test(self) -> None:
        """Watch again once the first test begins, if imports and collection alone made too many calls."""
        if self.is_in_tests:
            return
        is_ended = self.calls > MOST_CALLS
        self.calls, self.is_in_tests = 0, True
        if is_ended and GETTRACE() is None:
            threading.settrace(self.enter)
            SETTRACE(self.enter)

    def monitor(self) -> bool:
        """Watch with monitoring; return whether a tool id is free."""
        tool = next((number for number in (4, 3, 5) if MONITORING.get_tool(number) is None), None)
        if tool is None:
            return False
        events = MONITORING.events

        def begin(code: CodeType, _offset: int) -> Any:
            if self.paths.get(code.co_filename) is not None:
                MONITORING.set_local_events(tool, code, events.LINE)
            return MONITORING.DISABLE

        def see(code: CodeType, line: int) -> Any:
            self.left[self.paths[code.co_filename]].discard(line)
            return MONITORING.DISABLE

        MONITORING.use_tool_id(tool, "coder_lines")
        MONITORING.register_callback(tool, events.PY_START, begin)
        MONITORING.register_callback(tool, events.LINE, see)
        MONITORING.set_events(tool, events.PY_START)
        return True

    def enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Trace a frame in which watched lines are left."""
        self.calls += 1
        if self.calls > MOST_CALLS:
            self.is_known = False
            self.end()
            return None
        # Not through the code of the frame: to read it takes an audit event, and ten times as long.
        file = frame.f_globals.get("__file__")
        if (
            not isinstance(file, str) or file not in self.paths
        ):  # lines of Cython, where they are traced, call the answer, whatever it is
            return ignore if isinstance(file, str) and file.endswith(COMPILED) else None
        left = self.left[self.paths[file]]
        lines = self.functions[file].get(frame.f_lineno)  # unknown where a generator goes on
        return self.see if (left if lines is None else lines & left) else None

    def see(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Note a line of a watched file."""
        path = self.paths.get(frame.f_globals.get("__file__", ""))
        if event == "line" and path is not None and frame.f_lineno in self.left[path]:
            self.left[path].discard(frame.f_lineno)
            if not any(self.left.values()):
                self.end()
        return self.see

    def end(self) -> None:
        """Stop tracing, in this thread and in new ones; others go on to the end of their functions."""
        SETTRACE(None)
        threading.settrace(None)  # type: ignore[arg-type, unused-ignore]  # removes the trace function

    def findings(self, *, has_started_processes: bool) -> dict[str, list[list[int]]] | None:
        """Return the lines of each file that were watched, and those that did not run; None if unknown."""
        is_complete = not any(self.left.values())
        if MONITORING is None and not is_complete:
            self.is_known &= GETTRACE() == self.enter
            self.end()
        is_known = self.is_known and not has_started_processes and not self.has_other_names()
        if not (is_complete or is_known):
            return None
        return {path: [sorted(lines), sorted(self.left[path])] for path, lines in self.watched.items()}

    def has_other_names(self) -> bool:
        """Tell whether one of the files is loaded by another path, such as one through a link."""
        files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
        names = {os.path.basename(file) for file in self.paths}
        return any(
            isinstance(file, str)
            and file not in self.paths
            and (os.path.basename(file) in names or os.path.islink(file))
            and os.path.realpath(file) in self.paths
            for file in files
        )


def find_lines(file: str) -> dict[int, set[int]]:
    """Return the lines on which instructions of functions start, by the first line of each function.

    Empty where the source has none, or cannot be read.
    """
    try:
        with open(file, "rb") as opened:
            code = compile(opened.read(), file, "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    functions: dict[int, set[int]] = {}
    for part in code_objects(code):
        if part.co_flags & IN_FUNCTION:
            lines = {line for _, line in dis.findlinestarts(part) if line and line != part.co_firstlineno}
            functions.setdefault(part.co_firstlineno, set()).update(lines)
    return functions


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_objects(constant)
