"""Interface of the application to everything beside sessions, and the values that it exchanges."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from coder.core.events import SessionCommand
    from coder.core.task import Attachment, Restore
    from coder.session.log import EventLog


class Overview(NamedTuple):
    """Facts about a repository that a person wants to know first."""

    branch: str
    """The branch, and a mark if there is uncommitted work."""
    test_command: str
    sessions: tuple[str, ...]
    """Lines on the newest sessions."""
    sandbox: str
    """`full`, `reduced` or `none`."""


class Services(Protocol):
    """Services of the application beside sessions; a method may be slow and raise CoderError."""

    def overview(self) -> Overview | None:
        """Return the facts for the start screen; None shows none."""
        ...

    # earlier sessions of the repository

    def list_sessions(self) -> Sequence[str]:
        """Return a line for each, the newest first."""
        ...

    def load_session(self, session: str) -> "EventLog":
        """Return the closed log of a session, by its id or a part of it; `last` is the newest."""
        ...

    def list_requests(self, session: str) -> Sequence[str]:
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

    def list_costs(self, unit: str) -> Sequence[str]:
        """Return lines with what was spent by day, or by another unit; empty is by day."""
        ...

    # names in the repository that a message can mention

    def list_paths(self) -> Sequence[str]:
        """Return the files, relative to the root."""
        ...

    def list_recent_paths(self) -> Sequence[str]:
        """Return the files that were changed lately, the newest first."""
        ...

    def list_symbols(self) -> Sequence[str]: ...

    # commands that the user types, or keeps as files

    def find_objection(self, command: str) -> str:
        """Return why the user should be asked first; empty if the command runs without asking."""
        ...

    def run_command(self, command: str, stop: Event) -> str:
        """Run a command in the sandbox until it ends or `stop` is set; return its output and how it ended."""
        ...

    def custom_commands(self) -> Mapping[str, str]:
        """Return the arguments and purpose of each command of the user and a trusted repository, by name."""
        ...

    def expand_command(self, name: str, words: str) -> tuple[str, str] | None:
        """Return the request that a command stands for, and its mode as of UserRequest; None without one.

        Raises:
            UserError: its repository is not trusted.
        """
        ...

    # settings of the sessions to come

    def list_models(self) -> Sequence[str]:
        """Return a line for each configured model, with its context and price."""
        ...

    def describe_setting(self, name: str) -> Sequence[str]:
        """Return lines on `effort` or `strategy`."""
        ...

    def change_setting(self, name: str, value: str) -> str:
        """Change `model`, `effort` or `strategy` from the next request on; return a sentence."""
        ...

    def check_machine(self) -> Sequence[str]:
        """Return lines on what works on this machine."""
        ...

    def remember_theme(self, name: str) -> None: ...

    # messages that the user sent in this repository, kept between sessions

    def read_messages(self) -> Sequence[str]:
        """Return the newest messages, the oldest of them first."""
        ...

    def add_message(self, text: str) -> None: ...


class SessionModel(NamedTuple):
    name: str
    """Empty if they work without a model; then nothing receives the user's remarks."""
    reason: str = ""
    """Reason of the choice, for the user."""


TRUST_ONCE, TRUST_ALWAYS = "once", "always for this repository"


class TrustQuestion(NamedTuple):
    """Question to answer before anything is run."""

    text: str
    details: str
    decline: str
    """Option that does not trust; without a sandbox the interface closes then."""
    can_decline: bool
    trust: Callable[[bool], None]
    """Takes whether the user trusts the repository for good, or until the interface is left."""

    @property
    def options(self) -> tuple[str, ...]:
        return TRUST_ONCE, TRUST_ALWAYS, self.decline


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


async def run_and_follow(running: RunningSession, show: Coroutine[None, None, None]) -> None:
    """Run a session to its end beside what shows its log; stop it where its reader is gone.

    An exception of either is raised as itself.
    """
    from coder.core.events import Stop

    run, follower = asyncio.ensure_future(running.run()), asyncio.ensure_future(show)
    try:
        await asyncio.wait({run, follower}, return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            running.send(Stop())
        await run
        await follower
    finally:
        run.cancel()
        follower.cancel()
        await asyncio.wait({run, follower})


class UserRequest(NamedTuple):
    """One message of the user that asks for work."""

    text: str
    mode: str = "fix"
    """`fix`, `change`, `ask`, `plan` or `build`; `verify` judges the revision `text`, or uncommitted work."""
    continues: str = ""
    """Id of the session that it continues."""
    outputs: tuple[tuple[str, str], ...] = ()
    """Commands that the user ran before, each with its output."""
    attachments: "tuple[Attachment, ...]" = ()
    """Texts and images that the user has sent along."""
    conversation: str = ""
    """Id that an editor knows the conversation by."""


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
