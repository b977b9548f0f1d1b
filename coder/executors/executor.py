"""Executors: calls in parallel, in processes of this machine or on a Ray cluster.

A caller passes a function and its arguments; the executor decides where each call runs, repeats those whose
worker died, and reports all of it as one stream of events.
"""

import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Event
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from coder.core.errors import CoderError

A = TypeVar("A")
R = TypeVar("R")
Emit = Callable[[str], None]
"""Sends a line from a running call to the process that waits for it."""
POLL_SECONDS = 0.25
"""Interval in which new arguments, and the wish to stop, are looked for."""
MAX_DEATHS = 2
"""Deaths of a worker during the same call after which the call has failed."""


@dataclass(frozen=True)
class CallStarted:
    """A call began, or began again."""

    key: str
    worker: str
    """Process or node that runs it."""


@dataclass(frozen=True)
class CallOutput:
    """A running call has sent a line."""

    key: str
    text: str


@dataclass(frozen=True)
class CallRestarted:
    """The worker of a call died; the call will start anew elsewhere."""

    key: str
    reason: str


@dataclass(frozen=True)
class CallFinished(Generic[R]):
    key: str
    result: R


@dataclass(frozen=True)
class CallFailed:
    """A call raised an exception, or lost its worker too often."""

    key: str
    reason: str
    """One line for the user."""


CallEvent = CallStarted | CallOutput | CallRestarted | CallFinished[R] | CallFailed


class SharedData(Protocol):
    """Bytes that all calls can read; a cluster transports them once to each node."""

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        ...

    def read(self) -> bytes:
        """Return the bytes; to be called within a call."""
        ...


class Executor(Protocol):
    """Runs calls in parallel; leaving its context ends everything that it started."""

    def __enter__(self) -> "Executor": ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def is_local(self) -> bool:
        """True if calls run on this machine and can open its files."""
        ...

    @property
    def slots(self) -> int:
        """Number of calls that run at a time."""
        ...

    @property
    def label(self) -> str:
        """Description for the user, such as `4 processes`."""
        ...

    def run(
        self,
        function: Callable[[A, Emit], R],
        arguments: Iterable[tuple[str, A]],
        *,
        stop: Event | None = None,
    ) -> Iterator[CallEvent[R]]:
        """Call the function with each argument, by key, and yield events as they arrive.

        The function is one of a module. Arguments are taken from the iterable only when a worker is free; one
        that has none then is asked again while calls run. Setting `stop` in another thread, or closing the
        iterator, ends all calls without a further event.
        """
        ...

    def share(self, data: bytes) -> SharedData:
        """Return data that calls can read, as part of their arguments."""
        ...


@dataclass(frozen=True)
class InlineData:
    """Shared data that travels with each argument."""

    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def read(self) -> bytes:
        return self.data


def describe_exception(error: BaseException) -> str:
    """Return in one line what a call raised."""
    if isinstance(error, CoderError | OSError):
        return " ".join(str(error).split())
    line = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    return f"internal error: {line}"


TIDYING_SECONDS = 10.0
"""Time for a call to clean up after SIGTERM."""


class LocalExecutor:
    """Runs calls, each in a process of its own; those of several threads may be run at a time."""

    is_local = True

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._runs: list[dict[Connection, _Call]] = []

    @property
    def label(self) -> str:
        return "1 process" if self.slots == 1 else f"{self.slots} processes"

    def __enter__(self) -> "LocalExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        for calls in self._runs:
            _end(calls, [*calls])

    def share(self, data: bytes) -> InlineData:
        return InlineData(data)

    def run(
        self,
        function: Callable[[A, Emit], R],
        arguments: Iterable[tuple[str, A]],
        *,
        stop: Event | None = None,
    ) -> Iterator[CallEvent[R]]:
        waiting = iter(arguments)
        calls: dict[Connection, _Call] = {}
        self._runs.append(calls)
        try:
            while True:
                while len(calls) < self.slots and (entry := next(waiting, None)) is not None:
                    yield _start(calls, entry[0], (function, entry[1]))
                if not calls:
                    return
                for connection in wait([*calls], timeout=POLL_SECONDS):
                    assert isinstance(connection, Connection)
                    yield from _receive(calls, connection)
                if stop is not None and stop.is_set():
                    return
        finally:
            _end(calls, [*calls])
            self._runs.remove(calls)


@dataclass(frozen=True)
class _Call:
    key: str
    task: tuple[Any, Any]
    """The function and its argument."""
    process: BaseProcess
    deaths: int


_Calls = dict[Connection, _Call]


def _start(calls: "_Calls", key: str, task: tuple[Any, Any], deaths: int = 0) -> CallStarted:
    context = multiprocessing.get_context("spawn")
    own_end, other_end = context.Pipe()
    process = context.Process(target=_perform, args=(other_end, *task))
    process.start()
    other_end.close()
    calls[own_end] = _Call(key, task, process, deaths)
    return CallStarted(key, f"process {process.pid}")


def _receive(calls: "_Calls", connection: Connection) -> Iterator[CallEvent[Any]]:
    """Yield the events of one message of a call, or of the death of its process."""
    call = calls[connection]
    try:
        kind, content = connection.recv()
    except (EOFError, OSError):
        _end(calls, [connection])
        reason, deaths = _describe_end(call.process.exitcode), call.deaths + 1
        if deaths < MAX_DEATHS:
            yield CallRestarted(call.key, reason)
            yield _start(calls, call.key, call.task, deaths)
        else:
            yield CallFailed(call.key, f"its worker died {deaths} times ({reason})")
        return
    if kind == "output":
        yield CallOutput(call.key, content)
        return
    call.process.join(TIDYING_SECONDS)
    _end(calls, [connection])
    yield CallFinished(call.key, content) if kind == "result" else CallFailed(call.key, content)


def _end(calls: "_Calls", connections: list[Connection]) -> None:
    """Terminate the processes of calls, and kill those that do not end in time."""
    processes = [calls.pop(connection).process for connection in connections]
    for connection, process in zip(connections, processes, strict=True):
        connection.close()
        process.terminate()
    for process in processes:
        process.join(TIDYING_SECONDS)
        process.kill()
        process.join()


def _describe_end(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _perform(connection: Connection, function: Callable[[Any, Emit], Any], argument: Any) -> None:
    """Run a call in its process, which ends on SIGTERM and with its parent, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, _exit_once)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    message: tuple[str, Any]
    try:
        message = "result", function(argument, lambda text: connection.send(("output", text)))
    except Exception as error:  # noqa: BLE001 - the parent reports it, and the other calls go on
        message = "failure", describe_exception(error)
    with suppress(OSError):
        connection.send(message)


def _exit_once(*_: object) -> NoReturn:
    """Exit, and let no second signal interrupt the cleanup."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit()


def _end_with_parent() -> None:
    """End this process in order when its parent is gone; by force where that takes long."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    Event().wait(TIDYING_SECONDS)
    os._exit(1)
