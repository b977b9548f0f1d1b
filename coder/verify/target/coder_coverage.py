"""Coverage of single tests: the functions of the tree that each of them enters, and files that it opens."""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from coder_watch import ExecutedCode, OpenedFiles  # type: ignore[import-not-found]  # on the import path of the run


class Observation:
    """Code executed and files opened in a period of time."""

    def __init__(self, functions: set[int], paths: dict[Any, bool], *, is_blind: bool = False) -> None:
        self.functions = functions
        """Indices into the tracer's table of functions."""
        self.paths = paths
        self.is_blind = is_blind
        """Whether other processes were started, or another tool took over, so that something was missed."""

    def add(self, other: Observation) -> None:
        """Merge another observation into this one."""
        self.functions |= other.functions
        self.paths.update(other.paths)
        self.is_blind = self.is_blind or other.is_blind


class CoverageTracer:
    """Observes the process from its start on, one period after another."""

    def __init__(self, tree: str) -> None:
        self.tree = tree
        self.prefix = tree.rstrip(os.sep) + os.sep
        self.opened = OpenedFiles()
        self.code = ExecutedCode()
        self.known: dict[int, tuple[CodeType, int]] = {}
        """Index of each code object of the tree by its id, with the object, which keeps the id in use."""
        self.indices: dict[tuple[str, int], int] = {}
        """Index of each function by path and first line, which is 0 for a module."""
        self.unwritten: list[tuple[str, int]] = []
        """Functions that no record has named yet."""
        self.first_test_of: dict[Any, str] = {}
        """Coverage -> the first test of a file that has it: parametrized tests often share theirs."""
        self.code.start()

    def take(self) -> Observation:
        """Return what was observed since the last call, and begin anew."""
        is_complete = self.code.keep_on()
        functions = {self.index_of(code) for code in self.code.now().values()}
        functions.discard(-1)
        observation = Observation(
            functions, self.opened.paths, is_blind=self.opened.processes or not is_complete
        )
        self.code.again()
        self.opened.forget()
        return observation

    def index_of(self, code: CodeType) -> int:
        """Return the index of the function of a code object, -1 if it is not in the tree."""
        known = self.known.get(id(code))
        if known is not None:
            return known[1]
        if not code.co_filename.startswith(self.prefix):
            return -1
        line = 0 if code.co_name == "<module>" else code.co_firstlineno
        function = (code.co_filename[len(self.prefix) :], line)
        if function not in self.indices:
            self.indices[function] = len(self.indices)
            self.unwritten.append(function)
        index = self.indices[function]
        self.known[id(code)] = (code, index)
        return index

    def describe(
        self, test: str, observation: Observation, *, seconds: float = 0.0, guesses: bool = True
    ) -> dict[str, Any]:
        """Return the record of a test's coverage, or a reference to an earlier test with the same coverage.

        The test named by an empty string stands for collection. If no test `guesses` its input, files that
        were only read for their constants are left out.
        """
        self.opened.paths = observation.paths
        read = self.opened.inside(self.tree, guessing=guesses)
        self.opened.forget()
        path = test.partition("::")[0]
        coverage = (path, frozenset(observation.functions), frozenset(read), observation.is_blind)
        first = self.first_test_of.setdefault(coverage, test)
        if first != test:
            return {"id": test, "seconds": seconds, "like": first}
        new, self.unwritten = self.unwritten, []
        return {
            "id": test,
            "seconds": seconds,
            "new": new,
            "functions": sorted(observation.functions),
            "read": read,
            "blind": observation.is_blind,
        }
