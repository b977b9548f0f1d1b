"""Pytest plugin that keeps two processes ready: one started, and one that has also collected the tests.

Standard library only, Python 3.8 or later, pytest 6.2 or later, a system that can fork. Loaded with `-p`
through PYTEST_ADDOPTS, beside coder_pytest_report. The request is the JSON file named in CODER_WARM_REQUEST.

The started process has not imported the project: a fork of it imports the project and collects tests as any
pytest does. One such fork is made at once; it collects everything, and forks again for each request
(coder_collected).
"""

# ruff: noqa: PTH118, PTH123
from __future__ import annotations

import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Generator
from typing import Any

import coder_pytest_report  # type: ignore[import-not-found]  # on the import path of the run
import pytest
from coder_channel import TargetChannel  # type: ignore[import-not-found]
from coder_collected import CollectedSession  # type: ignore[import-not-found]
from coder_fork import ChildProcess, become_subreaper, code_of, end_orphans  # type: ignore[import-not-found]
from coder_limits import LimitPlugin  # type: ignore[import-not-found]
from coder_straight import DirectProtocol  # type: ignore[import-not-found]
from coder_watch import OpenedFiles, relative  # type: ignore[import-not-found]

REQUEST_FILE = os.environ.pop("CODER_WARM_REQUEST", "")
OPENED = OpenedFiles()
GLANCE_SECONDS = 0.25


def pytest_load_initial_conftests(early_config: Any, args: list[str]) -> Generator[None, None, None]:
    """Serve requests before any code of the project runs; continues only in forks."""
    if REQUEST_FILE:
        with open(REQUEST_FILE, encoding="utf-8") as file:
            StartedProcess(early_config, args, json.load(file)).serve()
        early_config.pluginmanager.register(DirectProtocol(), "coder_straight")
    yield


pytest_load_initial_conftests = pytest.hookimpl(hookwrapper=True, tryfirst=True)(
    pytest_load_initial_conftests
)


class StartedProcess:
    """Pytest process that has read its configuration and loaded installed plugins."""

    def __init__(self, config: Any, args: list[str], request: dict[str, Any]) -> None:
        self.config = config
        self.args = args
        self.place: str = request["place"]
        self.request = request
        self.channel = TargetChannel(self.place, "started")
        become_subreaper()

    def serve(self) -> None:
        """Fork for each request; returns only in forks."""
        self.tell()
        collected = ChildProcess(os.fork())
        if collected.pid == 0:
            return self.collect()
        is_alive = True
        while True:
            request = self.channel.next(GLANCE_SECONDS)
            if is_alive and collected.has_ended():
                is_alive = False
                for name in ("collected", "run"):
                    TargetChannel(self.place, name).answer(gone=True)
            if request is None:
                continue
            if request["kind"] == "end":
                end_orphans()
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                return self.become(request)
            result = self.wait_for_fork(ChildProcess(pid), request["seconds"])
            end_orphans(collected.pid)
            self.channel.answer(**result)

    def tell(self) -> None:
        """Write which files of the tree were used already: they are the same in all forks."""
        tree = self.request["tree"]
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        loaded = [relative(path, tree) for path in files if isinstance(path, str)]
        options = self.config.known_args_namespace
        is_distributed = getattr(options, "dist", "no") != "no" or getattr(options, "numprocesses", None)
        state = {
            "loaded": sorted({path for path in loaded if path}),
            "opened": OPENED.inside(tree),
            "cold": "the tests run in processes of xdist" if is_distributed else "",
        }
        with open(os.path.join(self.place, "started"), "w", encoding="utf-8") as file:
            json.dump(state, file)

    def collect(self) -> None:
        """Turn this fork into the process that collects the tests."""
        self.channel.close()
        settle(os.path.join(self.place, "output"), self.request["temporary"])
        self.config.pluginmanager.register(
            CollectedSession(TargetChannel(self.place, "collected"), self.request, OPENED), "coder_collected"
        )

    def become(self, request: dict[str, Any]) -> None:
        """Turn this fork into a separate pytest process."""
        settle(request["output"], request["temporary"])
        coder_pytest_report.REMOVED_VARIABLES["CODER_PYTEST_REQUEST"] = request["report"]
        self.args += request["paths"]
        self.config.known_args_namespace.file_or_dir[:] = request["paths"]
        self.config.pluginmanager.register(LimitPlugin(request, self.channel.answer), "coder_limited")

    def wait_for_fork(self, fork: ChildProcess, seconds: float) -> dict[str, Any]:
        """Wait for a fork, end its descendants, and return how it ended."""
        deadline = time.monotonic() + seconds
        while not fork.has_ended() and time.monotonic() < deadline:
            select.select([], [], [], 0.005)
        timed_out = not fork.has_ended()
        return {"code": code_of(fork.kill()), "timed_out": timed_out}


def settle(output: str, temporary: str) -> None:
    """Redirect the output and the temporary files of a fork."""
    os.setpgid(0, 0)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    os.environ["TMPDIR"] = temporary
    tempfile.tempdir = None
