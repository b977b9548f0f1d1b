"""Interface of a front end to everything beside the logs of sessions, and the values that it exchanges."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from coder.core.events import Attachment, Restore
    from coder.session.log import EventLog, RunningSession


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

    def settle(self, choice: str) -> bool:
        """Trust as the user has chosen among the options; return whether the work goes on."""
        if choice == self.decline:
            return self.can_decline
        self.trust(choice == TRUST_ALWAYS)
        return True


class OpenedRepository(NamedTuple):
    """Facts about the repository that are only known once it has been opened."""

    trust: TrustQuestion | None = None
    """Asked before anything is run."""
    sandbox: str = ""
    """`full`, `reduced` or `none`."""
    notices: tuple[str, ...] = ()
    """Warnings that are shown at once."""
    initial_log: "EventLog | None" = None
    """Log of an earlier session, which is shown from the start."""


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


class Services(Protocol):
    """Services of a repository; each method may be slow, and raise CoderError."""

    def open(self) -> OpenedRepository:
        """Check the repository, before anything else."""
        ...

    def choose_model(self) -> SessionModel:
        """Return the model of sessions, and load what they need."""
        ...

    async def start(self, request: UserRequest) -> "RunningSession":
        """Open a session for a request."""
        ...

    def answer(self, command: str, text: str) -> Sequence[str]:
        """Carry out a command on sessions, settings or the machine (`commands.HELP`); return lines."""
        ...

    # the conversation

    def load_session(self, session: str) -> "EventLog":
        """Return the closed log of a session, by its id or a part of it; `last` is the newest."""
        ...

    def list_requests(self, session: str) -> Sequence[str]:
        """Return the texts of the requests of the conversation that ends with a session, the oldest first."""
        ...

    def go_back(self, session: str, request: int, restore: "Restore") -> tuple[str, str]:
        """Store the point before a request as a session; return its id, and a sentence."""
        ...

    # names in the repository that a message can mention

    def list_paths(self) -> Sequence[str]:
        """Return the files, relative to the root."""
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

    # what is kept between sessions

    def read_messages(self) -> Sequence[str]:
        """Return the requests of the newest sessions in this repository, the oldest of them first."""
        ...
