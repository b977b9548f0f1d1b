"""Forks of this process that can be waited for and ended with all that they have started.

Stdlib only, Python 3.8 or later.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
MADV_POPULATE_WRITE = 23


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
        elif seconds and has_ended(self.pid):  # a process that it has started may hold the pipe open
            while not self.ended and select.select([self.pipe], [], [], 0)[0]:
                data = os.read(self.pipe, 1 << 16)
                self.said += data
                self.ended = not data
            self.ended = True

    def kill(self) -> int:
        """End it with all that it has started; returns the status that it ended with."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        return status


def become(work: Callable[[list[Any]], Iterator[Any]], batch: list[Any], answer: int) -> None:
    """Do the work of a fork; never returns."""
    try:
        os.setpgid(0, 0)
        silence()
        for said in work(batch):
            os.write(answer, json.dumps(said).encode("ascii") + b"\n")
    finally:
        os._exit(0)


def silence() -> None:
    """Nothing comes in, and what goes out goes nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def has_ended(pid: int) -> bool:
    """Its status stays there to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def code_of(status: int) -> int:
    """As subprocess says it: negative for a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def adopt() -> None:
    """Become the parent of whatever is left behind below this process."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def populate() -> None:
    """Copy now, all at once, whatever memory this fork shares and may write to; where the kernel cannot, each page is copied when it is."""
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - a test may have replaced pathlib
        ranges = [line.split()[0] for line in maps if line.split()[1] == "rw-p"]
    for first, _, last in (text.partition("-") for text in ranges):
        start = int(first, 16)
        advise(ctypes.c_void_p(start), ctypes.c_size_t(int(last, 16) - start), MADV_POPULATE_WRITE)


def end_orphans(*kept: int) -> None:
    """Kill all children but those named, and what they leave behind in turn."""
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        try:
            if not kept and os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        orphans = [pid for pid in children() if pid not in kept]
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children() -> list[int]:
    """The children of this process, from /proc."""
    found = []
    mine = str(os.getpid()).encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH208, PTH112 - a test may have replaced pathlib
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                if stat.read().rpartition(b")")[2].split()[1] == mine:
                    found.append(int(name))
    return found
