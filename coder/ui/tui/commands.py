"""Commands of the prompt, such as `/undo`: their names, their help, and how they are read."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from coder.ui.tui.keys import KeyBindings

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
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


class PromptCommand(NamedTuple):
    """A command as it was typed."""

    name: str
    text: str


def parse_command(text: str) -> PromptCommand | None:
    """Return the command that a text starts with, known or not; None for a request, such as one on a path."""
    match = _COMMAND.fullmatch(text)
    return PromptCommand(match[1], (match[2] or "").strip()) if match else None


def suggest_command(name: str, known: Iterable[str] = HELP) -> str:
    """Return the sentence that refuses a command that is not `known`, with the one that is likely meant."""
    matches = get_close_matches(name, list(known), n=1)
    hint = f"Do you mean /{matches[0]}?" if matches else "/help lists all."
    return f"There is no command /{name}. {hint}"


def help_lines(keys: KeyBindings) -> list[str]:
    """Return the commands and keys, one a line."""
    commands = [f"/{name:<9} {text}" for name, text in HELP.items()]
    commands.append("!COMMAND   run a command in the sandbox; its output goes with your next request")
    return [*commands, "", *keys.describe()]
