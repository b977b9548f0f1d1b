"""Interfaces of the application to sessions."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    # Values are pydantic models: to import them here would double the time to the first paint.
    from coder.core.commands import SessionCommand
    from coder.session.log import EventLog


class SessionModel(NamedTuple):
    """Model that sessions will ask."""

    name: str
    """Empty if they work without a model; then nothing receives the user's remarks."""
    reason: str = ""
    """Reason of the choice, for the user."""


class TrustQuestion(NamedTuple):
    """Question to answer before anything is run."""

    text: str
    decline: str
    """Option that does not trust; without a sandbox the interface closes then."""
    can_decline: bool
    trust: Callable[[], None]
    """Keeps that the user trusts the repository."""


class RunningSession(Protocol):
    """Session as a front end sees it."""

    @property
    def log(self) -> "EventLog": ...

    def send(self, word: "SessionCommand") -> None:
        """Handle a command; one that comes too early or too late does no harm."""
        ...

    async def run(self) -> object:
        """Run to the end, close the log, and release all resources."""
        ...


class UserRequest(NamedTuple):
    """One message of the user that asks for work."""

    text: str
    mode: str = "fix"
    """`fix`, `change`, `ask`, `plan` or `build`; `verify` judges the revision `text`, or uncommitted work."""
    continues: str = ""
    """Id of the session that it continues."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Commands that the user ran before, each with its output."""


StartSession = Callable[[UserRequest], Awaitable[RunningSession]]
"""Opens a session for a request; may raise CoderError, and keeps slow work off the event loop."""


class OpenedRepository(NamedTuple):
    """Facts about the repository that are only known once it has been opened."""

    trust: TrustQuestion | None = None
    """Asked before anything is run."""
    has_alerts: bool = False
    """Whether the terminal calls the user."""
    notices: tuple[str, ...] = ()
    """Warnings that are shown at once."""
    initial_session: RunningSession | None = None
    """Session that is shown from the start."""


class RecordedSession:
    """Recorded log that is only shown."""

    def __init__(self, log: "EventLog") -> None:
        self.log = log

    def send(self, word: "SessionCommand") -> None:
        """Ignore the command."""

    async def run(self) -> None:
        """Do nothing, because the session has ended."""
