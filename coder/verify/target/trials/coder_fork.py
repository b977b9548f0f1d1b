"""Forks of this process that can be awaited and ended together with all their descendants.

Standard library only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any


class ForkedChild:
    """A fork that sends a line of JSON for each completed step."""

    def __init__(self, batch: list[Any], work: Callable[[list[Any]], Iterator[Any]], seconds: float) -> None:
        """Fork and start the work; `seconds` is the time limit between two answers."""
        self.batch = batch
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.ended = False
        self.received = b""
        self.pipe, answer = os.pipe()
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            become(work, batch, answer)
        os.close(answer)
        with contextlib.suppress(OSError):  # the child did so itself, or has ended
            os.setpgid(self.pid, self.pid)

    @property
    def expired(self) -> bool:
        """Whether the time limit for the next answer has passed."""
        return time.monotonic() > self.deadline

    @property
    def answers(self) -> list[Any]:
        """The answers received so far."""
        return [json.loads(line) for line in self.received.rpartition(b"\n")[0].splitlines()]

    def read(self, seconds: float) -> None:
        """Read available answers, waiting at most `seconds`."""
        if select.select([self.pipe], [], [], seconds)[0]:
            data = os.read(self.pipe, 1 << 16)
            self.received += data
            self.ended = not data
            self.deadline = time.monotonic() + self.seconds
        elif seconds and self.has_ended():  # one of its descendants may hold the pipe open
            while not self.ended and select.select([self.pipe], [], [], 0)[0]:
                data = os.read(self.pipe, 1 << 16)
                self.received += data
                self.ended = not data
            self.ended = True

    def has_ended(self) -> bool:
        """Tell whether the fork has ended; its wait status is read once."""
        # waitid(2) could look at it more often, but Python before 3.13 lacks it on macOS.
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def kill(self) -> None:
        """Kill the fork with all its descendants in the process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)  # it may have no group of its own yet
            _, self.status = os.waitpid(self.pid, 0)
        os.close(self.pipe)


def become(work: Callable[[list[Any]], Iterator[Any]], batch: list[Any], answer: int) -> None:
    """Run the work of a fork and exit."""
    try:
        os.setpgid(0, 0)
        redirect_to_null()
        for result in work(batch):
            os.write(answer, json.dumps(result).encode("ascii") + b"\n")
    finally:
        os._exit(0)


def redirect_to_null() -> None:
    """Redirect standard input, output and error to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def limit(kind: int, most: int) -> None:
    """Lower the soft limit of a resource."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
