"""Interface of executors, and the events that report their calls."""

import hashlib
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Generic, Protocol, TypeVar

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
