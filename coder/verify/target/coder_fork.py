"""A fork of this process that answers line by line and can be ended with all that it has started.

Stdlib only, Python 3.8 or later.
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

MEMORY = 3 << 30
FILE_SIZE = 256 << 20


class Child:
    """A fork that answers with a line of JSON for each thing done."""

    def __init__(self, batch: list[Any], work: Callable[[list[Any]], Iterator[Any]], seconds: float) -> None:
        """`seconds` is how long it may take from one answer to the next."""
        self.batch = batch
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.ended = False
        self.said = b""
        self.pipe, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            become(work, batch, answer)
        os.close(answer)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(self.pid, self.pid)

    @property
    def expired(self) -> bool:
        return time.monotonic() > self.deadline

    @property
    def answers(self) -> list[Any]:
        return [json.loads(line) for line in self.said.rpartition(b"\n")[0].splitlines()]

    def read(self, seconds: float) -> None:
        """Take in what there is, waiting for at most so long."""
        if select.select([self.pipe], [], [], seconds)[0]:
            data = os.read(self.pipe, 1 << 16)
            self.said += data
            self.ended = not data
            self.deadline = time.monotonic() + self.seconds

    def kill(self) -> None:
        """End it with all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)


def become(work: Callable[[list[Any]], Iterator[Any]], batch: list[Any], answer: int) -> None:
    """Do the work of a fork; never returns."""
    try:
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE)):
            _, hard = resource.getrlimit(kind)
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        for said in work(batch):
            os.write(answer, json.dumps(said).encode("ascii") + b"\n")
    finally:
        os._exit(0)
