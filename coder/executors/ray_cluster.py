"""Ray executor: calls as tasks of a Ray cluster, of this machine or of many."""

import importlib.util
import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from coder import __version__
from coder.core.errors import UserError
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
    R,
    always,
    describe_exception,
)

CALL_MEMORY = 1 << 30
"""Bytes that a call asks for, beside one processor: an estimate, one test process beside its driver."""
CANCEL_SECONDS = 5.0
"""Time for cancelled calls to clean up."""
PROBE_SECONDS = 120.0
"""Time for a node to start a worker and answer."""
REFRESH_SECONDS = 5.0
"""Interval in which the size of the cluster is read."""
INSTALL = "Ray is not installed: install coder with its extra `cluster`."
TOKEN_HINT = "If it has token authentication, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its nodes."
OWN_CLUSTER = {
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Without it Ray replaces 127.0.0.1 by the machine's address, and listens on all interfaces.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
"""Environment of a cluster that coder starts: only its token opens it, and it listens on loopback alone."""


class RayExecutor:
    """Runs as many calls at a time as the cluster has processors for, on nodes that have what coder needs."""

    is_local = False

    def __init__(self, address: str) -> None:
        """Connect to `ray://HOST:PORT`; without an address, join the cluster of this machine, or start one.

        Raises:
            UserError: Ray is not installed, or there is no cluster of the same versions at the address.
        """
        self._ray, self._owns_cluster = _connect(address)
        ray = self._ray
        self._unfit, self.notices = self._probe_nodes()
        here = "node:__internal_head__"
        # The head node lives as long as the cluster.
        self._mailbox = (
            ray.remote(_Mailbox).options(num_cpus=0, resources={here: 0.001}, max_restarts=-1).remote()
        )
        self._slots, self._slots_read = 1, 0.0

    @property
    def label(self) -> str:
        nodes = [node for node in self._ray.nodes() if node["Alive"] and node["NodeID"] not in self._unfit]
        place = "a Ray cluster of its own" if self._owns_cluster else "a Ray cluster"
        return (
            f"{place} ({len(nodes)} node{'s' if len(nodes) != 1 else ''}, {self._count_cpus():g} processors)"
        )

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
        is_wanted: Callable[[str], bool] = always,
    ) -> Iterator[CallEvent[R]]:
        ray, waiting = self._ray, iter(arguments)
        calls: dict[Any, _Attempt] = {}
        try:
            while True:
                while len(calls) < self._count_slots() and (entry := next(waiting, None)) is not None:
                    self._submit(_Attempt(entry[0], function, entry[1]), calls)
                if not calls:
                    return
                done, _ = ray.wait([*calls], timeout=POLL_SECONDS)
                yield from self._read_lines(calls)  # before the results, which end the calls
                for reference in done:
                    yield from self._finish(reference, calls)
                unwanted = [reference for reference, call in calls.items() if not is_wanted(call.key)]
                self._cancel(unwanted)
                for reference in unwanted:
                    del calls[reference]
        finally:
            self._cancel([*calls])

    def _submit(self, attempt: "_Attempt", calls: "dict[Any, _Attempt]") -> None:
        excluded = {"ray.io/node-id": f"!in({','.join(self._unfit)})"} if self._unfit else None
        task = self._ray.remote(_call).options(
            num_cpus=1,
            memory=CALL_MEMORY,
            max_retries=0,  # the caller must learn of each attempt
            scheduling_strategy="SPREAD",
            label_selector=excluded,
        )
        calls[task.remote(attempt.function, attempt.argument, attempt.token, self._mailbox)] = attempt

    def _read_lines(self, calls: "dict[Any, _Attempt]") -> Iterator[CallEvent[Any]]:
        """Yield what running calls have sent; lines of attempts that are over are dropped."""
        attempts = {attempt.token: attempt for attempt in calls.values()}
        try:
            messages = self._ray.get(self._mailbox.take.remote(), timeout=60)
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
        except (errors.RayTaskError, errors.RuntimeEnvSetupError, errors.TaskUnschedulableError) as error:
            yield describe_exception(attempt.key, error)
            return
        except errors.RayError as error:
            yield from self._restart(attempt, _describe_loss(error), calls)
            return
        if not attempt.is_running:  # its first line was lost with the mailbox
            yield CallStarted(attempt.key, "a node")
        yield CallFinished(attempt.key, content) if kind == "result" else CallFailed(attempt.key, *content)

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

    def _count_slots(self) -> int:
        if time.monotonic() - self._slots_read > REFRESH_SECONDS or not self._slots_read:
            self._slots_read = time.monotonic()
            self._slots = max(1, int(self._count_cpus()))
        return self._slots

    def _count_cpus(self) -> float:
        return sum(
            float(node["Resources"].get("CPU", 0.0))
            for node in self._ray.nodes()
            if node["Alive"] and node["NodeID"] not in self._unfit
        )

    def _probe_nodes(self) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the nodes that cannot run calls, and a line on each."""
        ray = self._ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def probe() -> dict[str, str]:  # a nested function travels by value, so that it runs without coder
            import importlib.metadata
            import platform
            import shutil

            try:
                version = importlib.metadata.version("coder-proof")
            except importlib.metadata.PackageNotFoundError:
                version = ""
            return {"python": platform.python_version(), "coder": version, "git": shutil.which("git") or ""}

        nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        pending = {
            identity: ray.remote(probe)
            .options(
                num_cpus=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(identity, soft=False),
                max_retries=0,
            )
            .remote()
            for identity in nodes
        }
        faults = {}
        for identity, reference in pending.items():
            try:
                fault = _node_fault(ray.get(reference, timeout=PROBE_SECONDS))
            except ray.exceptions.RayError as error:
                fault = f"it starts no worker ({_describe_loss(error)})"
            if fault:
                faults[identity] = (
                    f"Node {nodes[identity]['NodeManagerAddress']} ({identity[:8]}) is not used: {fault}."
                )
        if len(faults) == len(nodes):
            raise UserError(f"No node of the cluster can be used. {' '.join(faults.values())}")
        return frozenset(faults), tuple(faults.values())


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
        failure = describe_exception("", error)
        answer = "failure", (failure.reason, failure.details)
    with suppress(ray.exceptions.RayError):
        ray.get(last, timeout=10)
    return answer


def _connect(address: str) -> tuple[Any, bool]:
    """Return Ray, connected, and whether the cluster was started for this process."""
    if importlib.util.find_spec("ray") is None:
        raise UserError(INSTALL)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "coder"}
    joined = address or os.environ.get("RAY_ADDRESS", "") or _find_running_cluster()
    if joined == "local":  # as Ray calls a cluster of one's own
        joined = ""
    if not joined:
        for name, value in OWN_CLUSTER.items():
            os.environ.setdefault(name, value)
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    import ray

    try:
        if joined:
            ray.init(address=joined, **options)
        else:
            ray.init(address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **options)
    except Exception as error:  # noqa: BLE001 - Ray has no common class for them
        hint = f" {TOKEN_HINT}" if joined and not os.environ.get("RAY_AUTH_TOKEN") else ""
        reason = " ".join(str(error).split()).partition("Ensure that")[0].rstrip(" .")
        raise UserError(f"Ray at {joined or 'this machine'}: {reason}.{hint}") from None
    return ray, not joined


def _find_running_cluster() -> str:
    """Return the address of the cluster that `ray start` has started here; empty if none runs.

    Ray itself is not asked, since it reads the environment of a cluster of our own as it is imported.
    """
    try:
        file = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
        host, _, port = file.read_text(encoding="utf-8").strip().rpartition(":")
        with socket.create_connection((host, int(port)), timeout=1):
            return f"{host}:{port}"
    except (OSError, ValueError):
        return ""


def _node_fault(facts: dict[str, str]) -> str:
    """Return why a node cannot run calls of this process; empty if it can."""
    own_python = ".".join(map(str, sys.version_info[:3]))
    if facts["python"].split(".")[:2] != own_python.split(".")[:2]:
        return f"it has Python {facts['python']}, and this machine {own_python}"
    if facts["coder"] != __version__:
        return f"it has {'coder ' + facts['coder'] if facts['coder'] else 'no coder'}, not {__version__}"
    return "" if facts["git"] else "it has no git"


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
