"""A pytest plugin that keeps two processes ready: one that has started, and one that has collected the tests as well.

Stdlib only, Python 3.8 or later, pytest 6.2 or later, a system that can fork. Loaded with `-p` through PYTEST_ADDOPTS, beside
coder_pytest_report. What to do comes from the JSON file named in CODER_WARM_REQUEST.

The process that has started knows nothing of the project yet: a fork of it imports the project and collects tests as any pytest does.
One such fork is made at once; it collects everything, and forks again for each request (coder_collected).
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Generator
from typing import Any

import coder_pytest_report  # type: ignore[import-not-found]  # they all lie beside this file
import pytest
from coder_channel import Channel  # type: ignore[import-not-found]
from coder_collected import Collected  # type: ignore[import-not-found]
from coder_fork import adopt, code_of, end_orphans, has_ended  # type: ignore[import-not-found]
from coder_limits import Limited  # type: ignore[import-not-found]
from coder_straight import Straight  # type: ignore[import-not-found]
from coder_watch import Opened, relative  # type: ignore[import-not-found]

REQUEST_FILE = os.environ.pop("CODER_WARM_REQUEST", "")
OPENED = Opened()
GLANCE_SECONDS = 0.25


def pytest_load_initial_conftests(early_config: Any, args: list[str]) -> Generator[None, None, None]:
    """From here on code of the project is executed; returns in forks only."""
    if REQUEST_FILE:
        with open(REQUEST_FILE, encoding="utf-8") as file:
            Started(early_config, args, json.load(file)).serve()
        early_config.pluginmanager.register(Straight(), "coder_straight")
    yield


pytest_load_initial_conftests = pytest.hookimpl(hookwrapper=True, tryfirst=True)(
    pytest_load_initial_conftests
)


class Started:
    """A pytest process that has read its configuration and loaded what is installed."""

    def __init__(self, config: Any, args: list[str], request: dict[str, Any]) -> None:
        self.config = config
        self.args = args
        self.place: str = request["place"]
        self.request = request
        self.channel = Channel(self.place, "started")
        adopt()

    def serve(self) -> None:
        self.tell()
        collected = os.fork()
        if collected == 0:
            return self.collect()
        alive = True
        while True:
            request = self.channel.next(GLANCE_SECONDS)
            if alive and has_ended(collected):
                alive = False
                for name in ("collected", "run"):
                    Channel(self.place, name).answer(gone=True)
            if request is None:
                continue
            if request["kind"] == "end":
                end_orphans()
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                return self.become(request)
            ended = self.awaited(pid, request["seconds"])
            end_orphans(collected)
            self.channel.answer(**ended)

    def tell(self) -> None:
        """Say which files of the tree have been used already: they are the same in all forks."""
        tree = self.request["tree"]
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        loaded = [relative(path, tree) for path in files if isinstance(path, str)]
        options = self.config.known_args_namespace
        spread = getattr(options, "dist", "no") != "no" or getattr(options, "numprocesses", None)
        told = {
            "loaded": sorted({path for path in loaded if path}),
            "opened": OPENED.inside(tree),
            "cold": "the tests run in processes of xdist" if spread else "",
        }
        with open(os.path.join(self.place, "started"), "w", encoding="utf-8") as file:
            json.dump(told, file)

    def collect(self) -> None:
        self.channel.close()
        settle(os.path.join(self.place, "output"), self.request["temporary"])
        self.config.pluginmanager.register(
            Collected(Channel(self.place, "collected"), self.request, OPENED), "coder_collected"
        )

    def become(self, request: dict[str, Any]) -> None:
        """Turn this fork into a pytest process of its own."""
        settle(request["output"], request["temporary"])
        coder_pytest_report.OURS["CODER_PYTEST_REQUEST"] = request["report"]
        self.args += request["paths"]
        self.config.known_args_namespace.file_or_dir[:] = request["paths"]
        self.config.pluginmanager.register(Limited(request, self.channel.answer), "coder_limited")

    def awaited(self, pid: int, seconds: float) -> dict[str, Any]:
        """How a fork has ended, with all that it has started."""
        deadline = time.monotonic() + seconds
        while not has_ended(pid) and time.monotonic() < deadline:
            select.select([], [], [], 0.005)
        timed_out = not has_ended(pid)
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        return {"code": code_of(os.waitpid(pid, 0)[1]), "timed_out": timed_out}


def settle(output: str, temporary: str) -> None:
    """What a fork prints and what it puts away temporarily goes to places of its own."""
    os.setpgid(0, 0)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None
