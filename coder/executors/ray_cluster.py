"""Ray executor: calls as tasks of a Ray cluster, of this machine or of many."""

import importlib.util
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from threading import Event
from typing import Any

from coder.core.errors import UserError
from coder.executors.executor import (
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
    R,
    describe_exception,
)

CALL_MEMORY = 1 << 30
"""Bytes that a call asks for, beside one processor: an estimate, one test process beside its driver."""
CANCEL_SECONDS = 5.0
"""Time for cancelled calls to clean up."""
TOKEN_HINT = "If it has token authentication, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its nodes."


class RayExecutor:
    """Runs as many calls at a time as the cluster has processors for, on nodes that have what coder needs."""

    is_local = False

    def __init__(self, address: str) -> None:
        """Connect to `ray://HOST:PORT`; without an address, to the cluster that runs on this machine.

        Raises:
            UserError: Ray is not installed, or there is no cluster of the same versions at the address.
        """
        self._ray = _connect(address)

    @property
    def label(self) -> str:
        count = sum(node["Alive"] for node in self._ray.nodes())
        return f"a Ray cluster ({count} node{'s' * (count != 1)}, {self.slots} processors)"

    @property
    def slots(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def __enter__(self) -> "RayExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def share(self, data: bytes) -> "ObjectStoreData":
        return ObjectStoreData([self._ray.put(data)], sha256(data).hexdigest())

    def run(
        self,
        function: Callable[[A, Emit], R],
        arguments: Iterable[tuple[str, A]],
        *,
        stop: Event | None = None,
    ) -> Iterator[CallEvent[R]]:
        ray, waiting = self._ray, iter(arguments)
        calls: dict[Any, _Attempt] = {}
        here = "node:__internal_head__"  # it lives as long as the cluster
        options = {"num_cpus": 0, "resources": {here: 0.001}, "max_restarts": -1}
        mailbox = ray.remote(_Mailbox).options(**options).remote()
        try:
            while True:
                while len(calls) < self.slots and (entry := next(waiting, None)) is not None:
                    self._submit(_Attempt(entry[0], function, entry[1], mailbox), calls)
                if not calls:
                    return
                done, _ = ray.wait([*calls], timeout=POLL_SECONDS)
                yield from self._read_lines(mailbox, calls)  # before the results, which end the calls
                for reference in done:
                    yield from self._finish(reference, calls)
                if stop is not None and stop.is_set():
                    return
        finally:
            self._cancel([*calls])

    def _submit(self, attempt: "_Attempt", calls: "dict[Any, _Attempt]") -> None:
        task = self._ray.remote(_call).options(
            num_cpus=1,
            memory=CALL_MEMORY,
            max_retries=0,  # the caller must learn of each attempt
            scheduling_strategy="SPREAD",
        )
        calls[task.remote(attempt.function, attempt.argument, attempt.token, attempt.mailbox)] = attempt

    def _read_lines(self, mailbox: Any, calls: "dict[Any, _Attempt]") -> Iterator[CallEvent[Any]]:
        """Yield what running calls have sent; lines of attempts that are over are dropped."""
        attempts = {attempt.token: attempt for attempt in calls.values()}
        try:
            messages = self._ray.get(mailbox.take.remote(), timeout=60)
        except self._ray.exceptions.RayError:  # it is started anew; the results hold whole logs
            return
        for token, kind, text in messages:
            attempt = attempts.get(token)
            if attempt is None:
                continue
            attempt.is_running = True
            yield CallStarted(attempt.key, text) if kind == "started" else CallOutput(attempt.key, text)

    def _finish(self, reference: Any, calls: "dict[Any, _Attempt]") -> Iterator[CallEvent[Any]]:
        attempt, errors = calls.pop(reference), self._ray.exceptions
        try:
            kind, content = self._ray.get(reference)
        except errors.RayTaskError as error:
            yield CallFailed(attempt.key, describe_exception(error))
            return
        except errors.RayError as error:
            yield from self._restart(attempt, _describe_loss(error), calls)
            return
        if not attempt.is_running:  # its first line was lost with the mailbox
            yield CallStarted(attempt.key, "a node")
        yield CallFinished(attempt.key, content) if kind == "result" else CallFailed(attempt.key, content)

    def _restart(
        self, attempt: "_Attempt", reason: str, calls: "dict[Any, _Attempt]"
    ) -> Iterator[CallEvent[Any]]:
        attempt.deaths += 1
        if attempt.deaths >= MAX_DEATHS:
            yield CallFailed(attempt.key, f"its worker died {attempt.deaths} times ({reason})")
            return
        attempt.token, attempt.is_running = secrets.token_hex(8), False
        yield CallRestarted(attempt.key, reason)
        self._submit(attempt, calls)

    def _cancel(self, references: list[Any]) -> None:
        """End calls: by an interrupt first, so that they clean up, then by force."""
        for force in (False, True):
            for reference in references:
                with suppress(self._ray.exceptions.RayError, ValueError):
                    self._ray.cancel(reference, force=force)
            if references:
                _, references = self._ray.wait(
                    references, num_returns=len(references), timeout=CANCEL_SECONDS
                )


@dataclass(frozen=True)
class ObjectStoreData:
    """Shared data in the cluster's object store, from which each node fetches it once."""

    references: list[Any]
    """One reference; in a list, since Ray replaces a bare one by its value."""
    digest: str

    def read(self) -> bytes:
        import ray

        data: bytes = ray.get(self.references[0])
        return data


@dataclass(eq=False)
class _Attempt:
    """A call that is to run, or runs."""

    key: str
    function: Callable[..., Any]
    argument: Any
    mailbox: Any
    deaths: int = 0
    is_running: bool = False
    token: str = ""

    def __post_init__(self) -> None:
        self.token = secrets.token_hex(8)


class _Mailbox:
    """Actor that holds the lines of running calls until they are collected."""

    def __init__(self) -> None:
        self._messages: list[tuple[str, str, str]] = []

    def put(self, *message: str) -> None:
        token, kind, text = message
        self._messages.append((token, kind, text))

    def take(self) -> list[tuple[str, str, str]]:
        messages, self._messages = self._messages, []
        return messages


def _call(function: Callable[..., Any], argument: Any, token: str, mailbox: Any) -> tuple[str, Any]:
    """Run one call on a node, and send its lines; its last line arrives before its result."""
    import ray

    context = ray.get_runtime_context()
    last = mailbox.put.remote(token, "started", f"node {context.get_node_id()[:8]}, process {os.getpid()}")

    def emit(text: str) -> None:
        nonlocal last
        last = mailbox.put.remote(token, "output", text)

    try:
        answer: tuple[str, Any] = "result", function(argument, emit)
    except Exception as error:  # noqa: BLE001 - the caller reports it, and the other calls go on
        answer = "failure", describe_exception(error)
    with suppress(ray.exceptions.RayError):
        ray.get(last, timeout=10)
    return answer


def _connect(address: str) -> Any:
    """Return Ray, connected; no cluster is started, since it would listen on all interfaces."""
    if importlib.util.find_spec("ray") is None:
        raise UserError("Ray is not installed: install coder with its extra `cluster`.")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    try:
        ray.init(address or "auto", namespace="coder", log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # noqa: BLE001 - Ray has no common class for them
        hint = "" if os.environ.get("RAY_AUTH_TOKEN") else f" {TOKEN_HINT}"
        reason = " ".join(str(error).split()).partition("Ensure that")[0].rstrip(" .")
        raise UserError(f"Ray at {address or 'this machine'}: {reason}.{hint}") from None
    return ray


LOSSES = {
    "WorkerCrashedError": "its process or its node ended",
    "NodeDiedError": "its node ended",
    "OutOfMemoryError": "its node ran out of memory",
    "GetTimeoutError": "no answer in time",
}
"""Reasons for the loss of a worker, by Ray's exception."""


def _describe_loss(error: Exception) -> str:
    name = type(error).__name__
    return LOSSES.get(name, name)
