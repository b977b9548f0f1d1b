"""Arguments of the prompt's commands, for completion and for corrections."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from coder.ui.tui.services import Services

CLOSED_COMMANDS = {"theme": "theme", "strategy": "strategy", "budget": "limit", "cost": "unit"}
"""Commands that take nothing but the arguments that are listed, with what such an argument is."""


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
            case _:
                return ()


def _split_lines(lines: Sequence[str]) -> tuple[Argument, ...]:
    parts = (line.strip().partition(" ") for line in lines)
    return tuple(Argument(value, about.strip()) for value, _, about in parts)


def explain_unknown_argument(command: str, value: str, known: Sequence[Argument]) -> str:
    """Return the sentence that refuses an argument, with those that are likely meant."""
    values = [argument.value for argument in known]
    matches = get_close_matches(value, values)
    hint = f"Do you mean {' or '.join(matches)}?" if matches else f"There are: {', '.join(values)}."
    return f"There is no {CLOSED_COMMANDS[command]} {value}. {hint}"
