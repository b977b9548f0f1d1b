"""What the application needs from outside: a way to start a session, and what it does with one."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    # Values are pydantic models: to import them here would double the time to the first paint.
    from coder.core.commands import Word
    from coder.session.log import EventLog


class Chosen(NamedTuple):
    """The model that sessions will ask."""

    name: str
    """Empty where they work without one: then nobody hears what the person says meanwhile."""
    reason: str = ""
    """Why this one, or none; for the person."""


class Running(Protocol):
    """A session, as a front end sees it."""

    @property
    def log(self) -> "EventLog": ...

    def send(self, word: "Word") -> None:
        """Hear a word; one that comes before or after its time does no harm."""
        ...

    async def run(self) -> object:
        """Work to the end, close the log, and let go of everything that was opened for it."""
        ...


Start = Callable[[str], Awaitable[Running]]
"""Opens a session for an issue; it may raise CoderError, and keeps slow work off the event loop."""


class Recorded:
    """A log that is only shown."""

    def __init__(self, log: "EventLog") -> None:
        self.log = log

    def send(self, word: "Word") -> None:
        """There is nobody to hear it."""

    async def run(self) -> None:
        """It has run."""
