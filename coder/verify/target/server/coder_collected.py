"""Pytest process that has collected the tests and forks for each request."""

# ruff: noqa: PTH118, PTH123, B905 - a test may have replaced pathlib; zip is strict from Python 3.10 on
from __future__ import annotations

import gc
import json
import linecache
import os
import random
import resource
import select
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coder_channel import TargetChannel  # type: ignore[import-not-found]  # on the import path of the run
from coder_fork import ForkedChild, become_subreaper, code_of, end_orphans, populate_memory, redirect_to_null  # type: ignore[import-not-found]
from coder_limits import LimitPlugin  # type: ignore[import-not-found]
from coder_selection import selecting_names  # type: ignore[import-not-found]
from coder_swap import Swapper, UnreliableSwap  # type: ignore[import-not-found]
from coder_trials import EditTrials  # type: ignore[import-not-found]
from coder_watch import ExecutedCode, OpenedFiles, first_lines  # type: ignore[import-not-found]

INTERRUPTED, INTERNAL_ERROR = 2, 3
IDLE_SECONDS = 0.03
"""After so long without a request, a fork is made ahead of the next one."""
MOST_TOUCHED = 300 << 20
"""Largest memory, in bytes, that a fork copies in advance."""


class CollectedSession:
    """Replacement of pytest's loop over the tests."""

    def __init__(self, channel: TargetChannel, request: dict[str, Any], opened: OpenedFiles) -> None:
        self.channel = channel
        self.runs = TargetChannel(request["place"], "run")
        """Channel for requests to run tests: the waiting fork takes them, not this process."""
        self.request = request
        self.opened = opened
        self.calls = ExecutedCode()
        self.calls.start()
        self.swapper = Swapper(request["tree"])
        self.positions: dict[str, list[int]] = {}
        self.waiting_fork: Any = None
        """A fork that waits for the next request."""
        self.limited = LimitPlugin()

    def pytest_configure(self, config: Any) -> None:
        config.option.dist, config.option.tx = "no", []
        config.pluginmanager.register(self.limited, "coder_limited")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        complete = self.calls.stop()
        self.session = session
        self.items = session.items
        self.recorder = session.config.pluginmanager.get_plugin("coder_recorder")
        for position, item in enumerate(self.items):
            for name in selecting_names(item.nodeid):
                self.positions.setdefault(name, []).append(position)
        unfit = "" if complete else "something else traces calls while the tests are collected"
        unfit = unfit or self.unfit()
        executed = [*self.calls.now().values()]
        self.swapper.index_process(executed)
        tree = self.request["tree"]
        state = {
            "read": self.opened.inside(tree, guessing=any(map(is_property_based, self.items))),
            "unfit": unfit,
            "executed": first_lines(executed, tree),
            "tests": [item.nodeid for item in self.items],
        }
        with open(os.path.join(self.request["place"], "ready"), "w", encoding="utf-8") as file:
            json.dump(state, file)
        become_subreaper()
        gc.collect()
        gc.freeze()
        self.channel.answer(ready=True)
        while True:
            self.serve(self.wait_for_input(None if self.waiting_fork else IDLE_SECONDS))

    def wait_for_input(self, seconds: float | None) -> int:
        """Return the descriptor that is ready, -1 if none is within `seconds`."""
        others = self.waiting_fork.pipe if self.waiting_fork else self.runs.requests
        ready = select.select([self.channel.requests, others], [], [], seconds)[0]
        return ready[0] if ready else -1

    def serve(self, descriptor: int) -> None:
        """Handle one request, or make or finish the spare fork."""
        if descriptor == self.channel.requests:
            request = {**self.channel.next(), "tree": self.request["tree"]}
            EditTrials(self.items, self.swapper, request, self.opened).run_request()
            self.channel.answer(tried=True)
        elif self.waiting_fork is None:
            self.waiting_fork = ForkedChild([], self.run, seconds=0.0)
        else:
            child, self.waiting_fork = self.waiting_fork, None
            ended = self.wait_for_fork(child)
            if child.answers:
                self.runs.answer(settled=True, **ended)

    def unfit(self) -> str:
        """Return why a fork of this process differs from a separate process; empty if it does not."""
        threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        if threads:
            return f"a thread runs since the tests were collected ({threads[0]})"
        if any(is_socket(descriptor) for descriptor in range(3, 256)):
            return "a connection is open since the tests were collected"
        return ""

    def wait_for_fork(self, child: ForkedChild) -> dict[str, Any]:
        """Wait for a fork that has started to run tests, clean up after it, and return how it ended."""
        child.read(0)
        child.seconds = child.answers[0] if child.answers else 0.0
        child.deadline = time.monotonic() + child.seconds
        while len(child.answers) < 2 and not child.ended and not child.expired:
            child.read(0.05)
        expired = child.expired and not child.ended
        status = child.kill()
        end_orphans()
        return {"code": code_of(status), "timed_out": expired}

    def run(self, _batch: list[Any]) -> Iterator[Any]:
        """Wait for a request in the fork, then run the tests as pytest would with the edited functions."""
        self.settle()
        self.channel.close()
        if not select.select([self.runs.requests], [], [], 0)[0]:
            preload_memory()
        request = self.runs.next()
        yield request["seconds"]
        self.runs.answer(**self.answer_to(request))
        yield True

    def answer_to(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run the requested tests with the edited functions and return the answer."""
        missing = [name for name in request["select"] if name not in self.positions]
        if missing:
            return {"cold": f"{missing[0]} was not collected"}
        try:
            self.put_into_effect(request["swaps"])
        except (UnreliableSwap, SyntaxError, ValueError) as reason:
            return {"cold": str(reason)}
        self.use_temporary_directory(request["temporary"])
        self.limited.become(request, self.runs.answer)
        positions = {position for name in request["select"] for position in self.positions[name]}
        items = (
            [self.items[position] for position in sorted(positions)] if request["select"] else [*self.items]
        )
        items.sort(key=self.limited.place)
        self.session.items = items
        self.session.testscollected = len(items)
        self.recorder.restart_in_fork(request, len(items))
        self.recorder.pytest_sessionfinish(self.session, self.exit_status(items))
        return {"code": 0, "timed_out": False}

    def put_into_effect(self, swaps: list[Any]) -> None:
        """Swap the edited functions in this process."""
        # From the end of each file, so that positions of later replacements stay valid.
        for swap in reversed(swaps):
            path = os.path.join(self.request["tree"], swap["path"])
            if path in self.swapper.imported:
                self.swapper.swap(path, swap["function"], swap["source"])
                if swap["lines"]:
                    self.swapper.shift_lines(path, swap["end"], swap["lines"])
            linecache.cache.pop(path, None)

    def settle(self) -> None:
        """Separate this fork from its parent's captured output, random state and garbage collection."""
        manager = self.session.config.pluginmanager.get_plugin("capturemanager")
        if manager is not None:  # forks share its files
            manager.stop_global_capturing()
            redirect_to_null()
            manager.start_global_capturing()
        # Pytest's rendering is not read, and takes most of the time of a failure.
        self.session.config.option.tbstyle = "value"
        random.seed()
        if "numpy" in sys.modules and hasattr(sys.modules["numpy"], "random"):
            sys.modules["numpy"].random.seed()
        gc.unfreeze()

    def use_temporary_directory(self, temporary: str) -> None:
        os.environ["TMPDIR"] = temporary
        tempfile.tempdir = None
        factory = getattr(self.session.config, "_tmp_path_factory", None)
        if factory is not None:
            factory._basetemp, factory._given_basetemp = None, Path(temporary, "pytest")

    def exit_status(self, items: list[Any]) -> int:
        """Run the tests as pytest's own loop does, and return its exit status."""
        protocol = self.session.config.hook.pytest_runtest_protocol
        try:
            for item, following in zip(items, [*items[1:], None]):
                protocol(item=item, nextitem=following)
                if self.session.shouldfail or self.session.shouldstop:
                    return INTERRUPTED
        except (KeyboardInterrupt, pytest.exit.Exception):
            return INTERRUPTED
        except BaseException:  # noqa: BLE001 - a plugin failed; pytest calls it an internal error
            return INTERNAL_ERROR
        return 1 if self.session.testsfailed else 0


def is_property_based(item: Any) -> bool:
    """Tell whether a test is property-based (Hypothesis)."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def preload_memory() -> None:
    """Copy the shared memory that this fork will write to in advance.

    Otherwise the fork pays for it while it runs, mostly in its first test. Without /proc nothing is done.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            resident = int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return
    if resident < MOST_TOUCHED:
        gc.collect()
        populate_memory()


def is_socket(descriptor: int) -> bool:
    """Tell whether a descriptor is an open socket."""
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False
