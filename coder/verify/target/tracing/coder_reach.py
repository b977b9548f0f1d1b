"""Per-test tracing of called functions and opened files.

Runs in the project's interpreter. Standard library only, Python 3.8 or later, pytest 6.2 or later.
"""

# ruff: noqa: B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterator
from types import CodeType
from typing import Any

import pytest
from coder_watch import ExecutedCode, OpenedFiles  # type: ignore[import-not-found]  # on the import path of the run


class CoverageTracer:
    """Runs tests and writes the coverage of each as one line."""

    def __init__(self, tree: str, opened: OpenedFiles, results: str) -> None:
        self.tree = tree
        self.opened = opened
        self.calls = ExecutedCode()
        self.results = results
        self.fixtures: dict[int, ObservedCoverage] = {}
        self.first_test_of: dict[str, str] = {}
        """Coverage -> the first test that has it: parametrized tests often share theirs."""

    def run(self, items: list[Any]) -> Iterator[bool]:
        """Run and trace the tests; yields about once a second as a sign of life."""
        last_yield = time.monotonic()
        items[0].config.pluginmanager.register(self, "coder_reach")
        for item, following in zip(items, [*items[1:], None]):
            self.opened.forget()
            self.calls.start()
            started = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            complete = self.calls.stop()
            observed = self.now()
            for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
                for definition in definitions:
                    if id(definition) in self.fixtures:
                        observed.add(self.fixtures[id(definition)])
            self.write(item.nodeid, observed, complete=complete, seconds=time.process_time() - started)
            if item.session.shouldfail or item.session.shouldstop:
                return
            if time.monotonic() > last_yield + 1.0:
                last_yield = time.monotonic()
                yield True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, None, None]:
        """Attribute the setup of a shared fixture to all tests that use it, not only to the first."""
        if fixturedef.scope == "function":
            yield
            return
        before = self.now()
        self.opened.forget()
        self.calls.again({})
        yield
        setup = self.fixtures[id(fixturedef)] = self.now()
        before.add(setup)
        self.calls.again(before.calls)
        self.opened.paths, self.opened.processes = dict(before.paths), before.processes

    def now(self) -> ObservedCoverage:
        """Return the coverage recorded so far."""
        return ObservedCoverage(self.calls.now(), dict(self.opened.paths), self.opened.processes)

    def write(self, test: str, observed: ObservedCoverage, *, complete: bool, seconds: float) -> None:
        """Write the coverage of a test, or a reference to an earlier test with the same coverage."""
        self.opened.paths = observed.paths
        coverage: dict[str, Any] = {
            "calls": first_lines([*observed.calls.values()], self.tree),
            "read": self.opened.inside(self.tree),
            # Other processes, and code traced by another tool, are not observed.
            "blind": observed.processes or not complete,
        }
        first = self.first_test_of.setdefault(json.dumps(coverage, sort_keys=True), test)
        line = {"id": test, "seconds": seconds, **(coverage if first == test else {"like": first})}
        descriptor = os.open(self.results, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(line).encode("ascii") + b"\n")
        os.close(descriptor)


class ObservedCoverage:
    """Calls and opened files of a period of time."""

    def __init__(self, calls: dict[int, CodeType], paths: dict[Any, None], processes: bool) -> None:
        self.calls = calls
        self.paths = paths
        self.processes = processes

    def add(self, other: ObservedCoverage) -> None:
        """Merge other coverage into this one."""
        self.calls.update(other.calls)
        self.paths.update(other.paths)
        self.processes = self.processes or other.processes


def first_lines(codes: list[CodeType], tree: str) -> dict[str, list[int]]:
    """Return the first lines of code objects, by path relative to the tree."""
    lines_by_path: dict[str, set[int]] = {}
    for code in codes:
        if code.co_filename.startswith(tree + os.sep):
            lines_by_path.setdefault(code.co_filename[len(tree) + 1 :], set()).add(code.co_firstlineno)
    return {path: sorted(lines) for path, lines in lines_by_path.items()}
