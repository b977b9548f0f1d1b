"""Commands of the prompt, such as `/undo`: how they are read and carried out, and services for all else."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from coder.core.errors import UserError
from coder.core.text import sanitize_text
from coder.ui.tui.keys import KeyBindings

if TYPE_CHECKING:
    from coder.core.events import Attachment, Restore
    from coder.session.log import EventLog, RunningSession

HELP: Mapping[str, str] = {
    "fix": "TEXT  fix a bug, and prove it",
    "do": "TEXT  make any other change",
    "ask": "TEXT  ask a question; nothing is changed",
    "plan": "TEXT  make a plan and change nothing",
    "build": "TEXT  build new code in components",
    "context": "show what fills the model's context window",
    "diff": "show the newest change again",
    "apply": "bring the newest change onto your branch",
    "undo": "take the newest change back",
    "verify": "REV  judge a commit, or your uncommitted work",
    "sessions": "list the sessions of this repository",
    "resume": "ID  go on with another session",
    "rewind": "N  go back to before request N: code, conversation or both",
    "new": "begin anew: the next message continues nothing",
    "model": "NAME  list the models, or take another one from now on",
    "effort": "LEVEL  show how much the model thinks, or change it: low, medium, high",
    "strategy": "NAME  show the strategy, or take another one from now on",
    "cost": "UNIT  show what was spent by day, or by month, model",
    "doctor": "check what works here",
    "help": "show this list",
    "quit": "leave",
}
"""Arguments and purpose, by name."""
MODES: Mapping[str, str] = {
    "fix": "fix",
    "do": "change",
    "ask": "ask",
    "plan": "plan",
    "build": "build",
    "verify": "verify",
}
"""Mode of the commands that send a request."""
_COMMAND = re.compile(r"/([^\s/]*)(?:\s+(.*))?", re.DOTALL)
"""A second slash in the first word makes it a path."""


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


class PromptCommand(NamedTuple):
    name: str
    text: str


def parse_command(text: str) -> PromptCommand | None:
    """Return the command that a text starts with, known or not; None for a request, such as `/etc/x is`."""
    match = _COMMAND.fullmatch(text)
    return PromptCommand(match[1], (match[2] or "").strip()) if match else None


def suggest_command(name: str, known: Iterable[str] = HELP) -> str:
    """Return the sentence that refuses a command that is not `known`, with the one that is likely meant."""
    if name.startswith("!"):
        return f"There is no command /{name}. Without the slash, {name} runs in the sandbox."
    if name == "theme":
        return "/theme no longer exists: start coder with TEXTUAL_THEME=textual-light, or another one."
    matches = get_close_matches(name.lower(), list(known), n=1)
    hint = f"Do you mean /{matches[0]}?" if matches else "/help lists all."
    return f"There is no command /{name}. {hint}"


class TypedRequest(NamedTuple):
    text: str
    mode: str


def interpret(
    services: Services, typed: str, *, mode: str, known: Iterable[str] = HELP
) -> TypedRequest | PromptCommand:
    """Return what a line of the user asks for: a request, or a command that is none; `!` is for the shell.

    Words without a command are a request in `mode`. `known` are coder's commands that the front end has.

    Raises:
        UserError: there is no such command, it needs words, or its repository is not trusted.
    """
    command = parse_command(typed)
    if command is None and not typed.startswith("!"):
        return TypedRequest(typed, mode)
    name, text = command or PromptCommand("!", typed[1:].strip())
    if name == "!" and command is None:
        if not text:
            raise UserError("! needs a command, such as !ls")
        return PromptCommand(name, text)
    if name in HELP and name not in known:
        raise UserError(suggest_command(name, known))
    if name not in HELP:
        return _expand_custom_command(services, name, text, known)
    if name not in MODES:
        return PromptCommand(name, text)
    if not text and name != "verify":
        raise UserError(f"/{name} {HELP[name]}")
    return TypedRequest(text, MODES[name])


def _expand_custom_command(services: Services, name: str, words: str, known: Iterable[str]) -> TypedRequest:
    """Return the request that a command of the user's or the repository's stands for."""
    request = services.expand_command(name, words)
    if request is None:
        raise UserError(suggest_command(name, (*known, *custom_purposes(services))))
    return TypedRequest(*request)


def custom_purposes(services: Services) -> Mapping[str, str]:
    """Return the commands of the user and the repository beside coder's own, with their purposes."""
    purposes = services.custom_commands()
    return {name: sanitize_text(text) for name, text in purposes.items() if name not in HELP}


def help_lines(keys: KeyBindings, custom: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    commands = [f"/{name:<9} {text}" for name, text in {**HELP, **custom}.items()]
    commands.append("!COMMAND   run a command in the sandbox; its output goes with your next request")
    return [*commands, "", *keys.describe()]


SINGLE_WORD_COMMANDS = ("model", "effort", "strategy", "cost", "diff", "apply", "undo")
MOST_LINES = 200
"""Lines of an output that are shown."""
MOST_CHARACTERS = 4_000
"""Longest output of a command that goes with the next request."""


class Commands:
    """Runs one command at a time, and shows its answer."""

    def __init__(
        self,
        services: Services,
        *,
        newest: Callable[[], "EventLog | None"],
        show_lines: Callable[[Iterable[str]], None],
        show_diff: Callable[[str], None],
        ask: Callable[[str, tuple[str, ...]], Awaitable[str]],
    ) -> None:
        """Take `newest`, which returns the log of the session that the next request continues.

        `ask` has the user choose among options, the last of which is the safe one.
        """
        self._services = services
        self._newest = newest
        self._show_lines = show_lines
        self._show_diff = show_diff
        self._ask = ask
        self._stop = Event()
        self._outputs: list[tuple[str, str]] = []

    @property
    def newest_id(self) -> str:
        """Id of the session that the next request continues; empty if there is none."""
        from coder.core.state import session_status

        log = self._newest()
        return session_status(log.records[:1]).session if log is not None else ""

    def make_request(self, asked: TypedRequest, **fields: Any) -> UserRequest:
        """Return a request that continues the newest session, with the output of commands since the last one.

        One that judges a change has neither.
        """
        if asked.mode == "verify":
            return UserRequest(asked.text, asked.mode)
        outputs = tuple(self._outputs)
        self._outputs.clear()
        return UserRequest(asked.text, asked.mode, self.newest_id, outputs, **fields)

    def stop(self) -> None:
        self._stop.set()

    async def run(self, name: str, text: str) -> None:
        """Carry out a command of the prompt; `!` is one for the shell.

        Raises:
            CoderError: it cannot be done.
        """
        words = text.split()
        if name in SINGLE_WORD_COMMANDS and len(words) > 1:
            raise UserError(f"/{name} takes one word, not {text!r}.")
        if name == "!":
            await self._run_shell(text)
        elif name == "diff":
            self._show_diff(await asyncio.to_thread(self._read_diff, text))
        else:
            self._show_lines(await asyncio.to_thread(self._services.answer, name, text))

    def show_context(self, log: "EventLog | None") -> None:
        """Show what fills the model's context window in the conversation of a session."""
        from coder.core.state import describe_context

        self._show_lines(describe_context(log.records if log is not None else ()))

    async def _run_shell(self, command: str) -> None:
        """Run a command in the sandbox, show its output, and keep it for the next request if it is short."""
        self._stop = Event()
        objection = await asyncio.to_thread(self._services.find_objection, command)
        question = f"Allow this? {command}   ({objection})"
        if objection and await self._ask(question, ("allow", "refuse")) != "allow":
            self._show_lines(["Not run."])
            return
        output = sanitize_text(await asyncio.to_thread(self._services.run_command, command, self._stop))
        lines = output.splitlines()
        hidden = len(lines) - MOST_LINES
        shown = [*([f"[{hidden} lines before]"] if hidden > 0 else []), *lines[-MOST_LINES:]]
        self._show_lines(["\n".join(shown)])
        if len(output) <= MOST_CHARACTERS:
            self._outputs.append((command, output))
        else:
            self._show_lines(["This output is too long to go with your next request."])

    def _read_diff(self, session: str) -> str:
        """Return the change of a session; empty is the newest."""
        from coder.core.state import delivered_diff

        log = self._services.load_session(session) if session else self._newest()
        diff = delivered_diff(log.records) if log is not None else ""
        if not diff:
            raise UserError("Nothing has been changed yet.")
        return diff
