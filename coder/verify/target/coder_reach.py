"""Sees which functions each test calls and which files it opens; it runs in the project's interpreter.

Stdlib only, Python 3.8 or later, pytest 6.2 or later.
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
from coder_watch import Calls, Opened  # type: ignore[import-not-found]  # they all lie beside this file


class Reach:
    """Runs tests and writes a line for each."""

    def __init__(self, tree: str, opened: Opened, results: str) -> None:
        self.tree = tree
        self.opened = opened
        self.calls = Calls()
        self.results = results
        self.fixtures: dict[int, Seen] = {}
        self.told: dict[str, str] = {}
        """What a test does, and the first one that does that: parametrised tests are often alike."""

    def run(self, items: list[Any]) -> Iterator[bool]:
        """Says once a second that it goes on."""
        said = time.monotonic()
        items[0].config.pluginmanager.register(self, "coder_reach")
        for item, following in zip(items, [*items[1:], None]):
            self.opened.forget()
            self.calls.start()
            started = time.process_time()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            complete = self.calls.stop()
            seen = self.now()
            for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
                for definition in definitions:
                    if id(definition) in self.fixtures:
                        seen.add(self.fixtures[id(definition)])
            self.write(item.nodeid, seen, complete=complete, seconds=time.process_time() - started)
            if item.session.shouldfail or item.session.shouldstop:
                return
            if time.monotonic() > said + 1.0:
                said = time.monotonic()
                yield True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, None, None]:
        """What is set up for several tests is reached by all of them, not only by the first."""
        if fixturedef.scope == "function":
            yield
            return
        outside = self.now()
        self.opened.forget()
        self.calls.again({})
        yield
        mine = self.fixtures[id(fixturedef)] = self.now()
        outside.add(mine)
        self.calls.again(outside.calls)
        self.opened.paths, self.opened.processes = dict(outside.paths), outside.processes

    def now(self) -> Seen:
        return Seen(self.calls.now(), dict(self.opened.paths), self.opened.processes)

    def write(self, test: str, seen: Seen, *, complete: bool, seconds: float) -> None:
        self.opened.paths = seen.paths
        does: dict[str, Any] = {
            "calls": lines_of([*seen.calls.values()], self.tree),
            "read": self.opened.inside(self.tree),
            # What another process does, or what something else traces, is not seen.
            "blind": seen.processes or not complete,
        }
        first = self.told.setdefault(json.dumps(does, sort_keys=True), test)
        line = {"id": test, "seconds": seconds, **(does if first == test else {"like": first})}
        descriptor = os.open(self.results, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, json.dumps(line).encode("ascii") + b"\n")
        os.close(descriptor)


class Seen:
    """What was seen in one stretch of time."""

    def __init__(self, calls: dict[int, CodeType], paths: dict[Any, None], processes: bool) -> None:
        self.calls = calls
        self.paths = paths
        self.processes = processes

    def add(self, other: Seen) -> None:
        self.calls.update(other.calls)
        self.paths.update(other.paths)
        self.processes = self.processes or other.processes


def lines_of(codes: list[CodeType], tree: str) -> dict[str, list[int]]:
    """First lines of codes, by path relative to the tree."""
    found: dict[str, set[int]] = {}
    for code in codes:
        if code.co_filename.startswith(tree + os.sep):
            found.setdefault(code.co_filename[len(tree) + 1 :], set()).add(code.co_firstlineno)
    return {path: sorted(lines) for path, lines in found.items()}
