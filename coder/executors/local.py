"""Local executor: calls in processes of this machine."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

from coder.executors.calls import (
    MAX_DEATHS,
    POLL_SECONDS,
    A,
    CallEvent,
    CallFailed,
    CallFinished,
    CallOutput,
    CallRestarted,
    CallStarted,
    Emit,
    InlineData,
    Needs,
    R,
    always,
    describe_exception,
)

TIDYING_SECONDS = 10.0
"""Time for a call to clean up after SIGTERM."""


class LocalExecutor:
    """Runs up to `processes` calls at a time, each in a process, which then takes the next one."""

    is_local = True
    notices = ()

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._workers: list[_Worker] = []

    @property
    def label(self) -> str:
        return "1 process" if self._processes == 1 else f"{self._processes} processes"

    def __enter__(self) -> "LocalExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.process.join(TIDYING_SECONDS)
        self._terminate(self._workers)

    def share(self, data: bytes) -> InlineData:
        return InlineData(data)

    def run(
        self,
        function: Callable[[A, Emit], R],
        arguments: Iterable[tuple[str, A]],
        *,
        needs: Needs = Needs(),  # noqa: ARG002, B008 (a frozen value; processes are all alike)
        is_wanted: Callable[[str], bool] = always,
    ) -> Iterator[CallEvent[R]]:
        waiting = iter(arguments)
        calls: dict[Connection, _Call] = {}
        try:
            while True:
                while len(calls) < self._processes and (entry := next(waiting, None)) is not None:
                    call = _Call(entry[0], (function, entry[1]))
                    yield self._start(call, calls)
                if not calls:
                    return
                for connection in wait([*calls], timeout=POLL_SECONDS):
                    assert isinstance(connection, Connection)
                    yield from self._receive(connection, calls)
                unwanted = [call for call in calls.values() if not is_wanted(call.key)]
                calls = {connection: call for connection, call in calls.items() if call not in unwanted}
                self._terminate([call.worker for call in unwanted if call.worker])
        finally:
            self._terminate([call.worker for call in calls.values() if call.worker])

    def _start(self, call: "_Call", calls: "dict[Connection, _Call]") -> CallStarted:
        """Give a call to a free worker, or to a new one."""
        busy = [other.worker for other in calls.values()]
        while True:
            worker = next((idle for idle in self._workers if idle not in busy), None) or self._add_worker()
            try:
                worker.connection.send(call.task)
            except OSError:  # it died while it was idle
                self._terminate([worker])
                continue
            call.worker = worker
            calls[worker.connection] = call
            return CallStarted(call.key, f"process {worker.process.pid}")

    def _add_worker(self) -> "_Worker":
        context = multiprocessing.get_context("spawn")
        own_end, other_end = context.Pipe()
        process = context.Process(target=_serve, args=(other_end,))
        process.start()
        other_end.close()
        self._workers.append(_Worker(process, own_end))
        return self._workers[-1]

    def _receive(self, connection: Connection, calls: "dict[Connection, _Call]") -> Iterator[CallEvent[Any]]:
        """Yield the events of one message of a worker, or of its death."""
        call = calls[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):
            yield from self._restart(calls.pop(connection), calls)
            return
        if kind == "output":
            yield CallOutput(call.key, content)
            return
        del calls[connection]
        yield CallFinished(call.key, content) if kind == "result" else CallFailed(call.key, *content)

    def _restart(self, call: "_Call", calls: "dict[Connection, _Call]") -> Iterator[CallEvent[Any]]:
        worker = call.worker
        assert worker is not None
        self._terminate([worker])
        call.deaths += 1
        reason = _describe_end(worker.process.exitcode)
        if call.deaths < MAX_DEATHS:
            yield CallRestarted(call.key, reason)
            yield self._start(call, calls)
        else:
            yield CallFailed(call.key, f"its worker died {call.deaths} times ({reason})")

    def _terminate(self, workers: "list[_Worker]") -> None:
        """Terminate workers, and kill those that do not end in time."""
        workers = [*workers]
        for worker in workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in workers:
            worker.process.join(TIDYING_SECONDS)
            worker.process.kill()
            worker.process.join()
            self._workers.remove(worker)


@dataclass(frozen=True, eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection


@dataclass(eq=False)
class _Call:
    key: str
    task: tuple[Any, Any]
    """The function and its argument."""
    deaths: int = 0
    worker: _Worker | None = field(default=None, repr=False)


def _describe_end(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        with suppress(ValueError):
            return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


def _serve(connection: Connection) -> None:
    """Run calls in a worker process until its parent closes the connection or dies.

    It ends on SIGTERM, and leaves Ctrl-C to its parent.
    """
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, _exit_once)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            function, argument = connection.recv()
        except (EOFError, OSError):
            return
        try:
            message = "result", function(argument, lambda text: connection.send(("output", text)))
        except Exception as error:  # noqa: BLE001 - the parent reports it, and the other calls go on
            failure = describe_exception("", error)
            message = "failure", (failure.reason, failure.details)
        try:
            connection.send(message)
        except OSError:
            return


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
    threading.Event().wait(TIDYING_SECONDS)
    os._exit(1)
