"""Commands of the prompt, such as `/undo`: their names, their help, and how they are read."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from coder.ui.tui.keys import KeyBindings
from coder.ui.tui.services import Services, require_service

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
    "copy": "copy the newest answer",
    "sessions": "list the sessions of this repository",
    "resume": "ID  go on with another session",
    "rewind": "N  go back to before request N: code, conversation or both",
    "new": "begin anew: the next message continues nothing",
    "model": "NAME  list the models, or take another one from now on",
    "strategy": "NAME  show the strategy, or take another one from now on",
    "budget": "LIMIT N  show the limits, or set usd, tokens, seconds or requests",
    "cost": "UNIT  show what was spent by day, or by session, month, model, role",
    "doctor": "check what works here",
    "theme": "NAME  list the themes, or take one",
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
    matches = get_close_matches(name.lower(), list(known), n=1)
    hint = f"Do you mean /{matches[0]}?" if matches else "/help lists all."
    return f"There is no command /{name}. {hint}"


def carry_out(services: Services, name: str, text: str) -> Sequence[str]:
    """Carry out a command of the sessions or the settings, and return lines to show; may be slow.

    Raises:
        CoderError: it cannot be done.
    """
    match name:
        case "sessions":
            return require_service(services.archive).list()
        case "apply":
            return [require_service(services.archive).apply(text or "last")]
        case "undo":
            return [require_service(services.archive).undo(text or "last")]
        case "cost":
            return require_service(services.archive).costs(text)
        case "doctor":
            return require_service(services.settings).check()
        case "model" if not text:
            return require_service(services.settings).models()
        case _ if not text:
            return require_service(services.settings).show(name)
    return [require_service(services.settings).change(name, text)]


def help_lines(keys: KeyBindings) -> list[str]:
    commands = [f"/{name:<9} {text}" for name, text in HELP.items()]
    commands.append("!COMMAND   run a command in the sandbox; its output goes with your next request")
    return [*commands, "", *keys.describe()]


class Argument(NamedTuple):
    """A word that may follow a command."""

    value: str
    about: str = ""


class CommandArguments:
    """Lists the arguments that commands take now."""

    def __init__(
        self, services: Services, *, themes: Callable[[], Iterable[str]], session: Callable[[], str]
    ) -> None:
        """Take `session`, which returns the id of the newest session; empty if there is none."""
        self._services = services
        self._themes = themes
        self._session = session

    def list(self, command: str) -> tuple[Argument, ...]:
        """Return the first arguments that a command can take; empty if any text will do. It may be slow.

        Raises:
            CoderError: they cannot be read.
        """
        archive, settings = self._services.archive, self._services.settings
        match command:
            case "theme":
                return tuple(map(Argument, self._themes()))
            case "model" | "strategy" | "budget" | "cost" if settings is not None:
                return _split_lines(settings.choices(command))
            case "resume" | "diff" | "apply" | "undo" if archive is not None:
                return _split_lines(archive.list())
            case "rewind" if archive is not None and (session := self._session()):
                requests = enumerate(archive.requests(session), start=1)
                return tuple(Argument(str(number), " ".join(text.split())) for number, text in requests)
        return ()


CLOSED_COMMANDS = {"theme": "theme", "strategy": "strategy", "budget": "limit", "cost": "unit"}
"""Commands that take nothing but the arguments that are listed, with what such an argument is."""


def _split_lines(lines: Sequence[str]) -> tuple[Argument, ...]:
    parts = (line.strip().partition(" ") for line in lines)
    return tuple(Argument(value, about.strip()) for value, _, about in parts)


def explain_unknown_argument(command: str, value: str, known: Sequence[Argument]) -> str:
    """Return the sentence that refuses an argument, with those that are likely meant."""
    values = [argument.value for argument in known]
    matches = get_close_matches(value, values)
    hint = f"Do you mean {' or '.join(matches)}?" if matches else f"There are: {', '.join(values)}."
    return f"There is no {CLOSED_COMMANDS[command]} {value}. {hint}"
