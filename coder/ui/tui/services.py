"""Interfaces of the application to everything beside sessions: the archive, names, settings, commands."""

from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from coder.core.errors import UserError

if TYPE_CHECKING:
    from coder.core.values import Restore
    from coder.session.log import EventLog

MOST_CHARACTERS = 4_000
"""Longest output of a command that goes with the next request."""
Service = TypeVar("Service")


class SessionArchive(Protocol):
    """Earlier sessions of the repository; each method may be slow, and raise CoderError."""

    def list(self) -> Sequence[str]:
        """Return a line for each, the newest first."""
        ...

    def load(self, session: str) -> "EventLog":
        """Return the closed log of a session, by its id or a part of it; `last` is the newest."""
        ...

    def requests(self, session: str) -> Sequence[str]:
        """Return the texts of the requests of the conversation that ends with a session, the oldest first."""
        ...

    def go_back(self, session: str, request: int, restore: "Restore") -> tuple[str, str]:
        """Store the point before a request as a session; return its id, and a sentence.

        `restore` is `both`, `conversation` or `code`.
        """
        ...

    def apply(self, session: str) -> str:
        """Bring what a session delivered onto the current branch; return a sentence."""
        ...

    def undo(self, session: str) -> str:
        """Take back what a session delivered; return a sentence."""
        ...

    def costs(self, unit: str) -> Sequence[str]:
        """Return lines with what was spent by day, or by another unit; empty is by day."""
        ...


class RepositoryNames(Protocol):
    """Names in the repository that a message can mention; each method may be slow, and raise CoderError."""

    def paths(self) -> Sequence[str]:
        """Return the files, relative to the root."""
        ...

    def symbols(self) -> Sequence[str]:
        """Return the names of definitions."""
        ...


class CommandShell(Protocol):
    """Sandbox for commands that the user types; each method may be slow, and raise CoderError."""

    def objection(self, command: str) -> str:
        """Return why the user should be asked first; empty if the command runs without asking."""
        ...

    def run(self, command: str, stop: Event) -> str:
        """Run a command until it ends or `stop` is set; return its output and how it ended."""
        ...


class SessionSettings(Protocol):
    """Settings of the sessions to come; each method may be slow, and raise CoderError."""

    def models(self) -> Sequence[str]:
        """Return a line for each configured model, with its context and price."""
        ...

    def show(self, name: str) -> Sequence[str]:
        """Return lines on `strategy` or `budget`."""
        ...

    def choices(self, name: str) -> Sequence[str]:
        """Return lines that begin with what /model, /strategy, /budget or /cost can be given."""
        ...

    def change(self, name: str, value: str) -> str:
        """Change `model`, `strategy` or `budget` from the next request on; return a sentence."""
        ...

    def check(self) -> Sequence[str]:
        """Return lines on what works on this machine."""
        ...

    def remember_theme(self, name: str) -> None:
        """Keep the theme for later."""
        ...


class MessageHistory(Protocol):
    """Messages that the user sent in this repository, kept between sessions."""

    def read(self) -> Sequence[str]:
        """Return the newest messages, the oldest of them first; may be slow."""
        ...

    def add(self, text: str) -> None:
        """Keep a message for later."""
        ...


class Services(NamedTuple):
    """Services of the application; None where one is missing."""

    archive: SessionArchive | None = None
    names: RepositoryNames | None = None
    shell: CommandShell | None = None
    settings: SessionSettings | None = None
    history: MessageHistory | None = None


def require_service(service: Service | None) -> Service:
    """Return a service.

    Raises:
        UserError: it is missing, because a recorded session is shown.
    """
    if service is None:
        raise UserError("This is the record of a session, nothing more.")
    return service
