"""Forks of this process that can be awaited and ended together with all their descendants.

Standard library only, Python 3.8 or later.
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


class ChildProcess:
    """A child of this process, whose wait status is read once.

    waitid(2) could look at it more often, but Python before 3.13 lacks it on macOS.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None

    def has_ended(self) -> bool:
        """Tell whether the child has ended."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def kill(self) -> int:
        """Kill the child with all its descendants in the process group; return its wait status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)  # it may have no group of its own yet
            _, self.status = os.waitpid(self.pid, 0)
        return self.status


class ForkedChild(ChildProcess):
    """A fork that sends a line of JSON for each completed step."""

    def __init__(self, batch: list[Any], work: Callable[[list[Any]], Iterator[Any]], seconds: float) -> None:
        """Fork and start the work; `seconds` is the time limit between two answers."""
        self.batch = batch
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.ended = False
        self.received = b""
        self.pipe, answer = os.pipe()
        super().__init__(os.fork())
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

    def kill(self) -> int:
        """Kill the fork, with all its descendants in the process group, and return its wait status."""
        status = super().kill()
        os.close(self.pipe)
        return status


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


def code_of(status: int) -> int:
    """Convert a wait status to an exit code as in subprocess: negative for a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def become_subreaper() -> None:
    """Become the subreaper of orphaned descendants (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def populate_memory() -> None:
    """Copy all private writable memory of this fork at once.

    If the kernel cannot, pages are copied one by one when written.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - a test may have replaced pathlib
        ranges = [line.split()[0] for line in maps if line.split()[1] == "rw-p"]
    for first, _, last in (text.partition("-") for text in ranges):
        start = int(first, 16)
        advise(ctypes.c_void_p(start), ctypes.c_size_t(int(last, 16) - start), MADV_POPULATE_WRITE)


def end_orphans(*spared: int) -> None:
    """Kill all children except the listed ones, and orphans that these leave behind in turn."""
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        try:
            if not spared and os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        orphans = [pid for pid in children() if pid not in spared]
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def children() -> list[int]:
    """Return the children of this process, from /proc."""
    pids = []
    own_pid = str(os.getpid()).encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH208, PTH112 - a test may have replaced pathlib
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                if stat.read().rpartition(b")")[2].split()[1] == own_pid:
                    pids.append(int(name))
    return pids
