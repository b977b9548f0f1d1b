"""Commands of the line-oriented interface that the services carry out."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Event

from coder.core.context_use import describe_context
from coder.core.errors import UserError
from coder.core.state import delivered_diff
from coder.core.values.text import sanitize_text
from coder.session.log import EventLog
from coder.ui.tui.commands import HELP
from coder.ui.tui.services import MOST_CHARACTERS, Services, require_service

ON_A_SCREEN = ("copy", "theme")
"""Commands that need the interface on a screen: the terminal copies lines itself, and has its own colours."""
DIALOGUE_HELP: Mapping[str, str] = {
    name: purpose for name, purpose in HELP.items() if name not in ON_A_SCREEN
}


class DialogueCommands:
    """Runs one command at a time and prints its answer."""

    def __init__(
        self,
        services: Services,
        *,
        print_lines: Callable[[Iterable[str]], None],
        ask: Callable[[str, tuple[str, str]], Awaitable[str]],
    ) -> None:
        """Take `ask`, which has the user choose between two options, the second of which is the safe one."""
        self._services = services
        self._print_lines = print_lines
        self._ask = ask
        self._outputs: list[tuple[str, str]] = []

    def take_outputs(self) -> tuple[tuple[str, str], ...]:
        """Return the commands since the last request, each with its output, and forget them."""
        outputs = tuple(self._outputs)
        self._outputs.clear()
        return outputs

    async def run(self, name: str, text: str, newest: EventLog | None) -> None:
        """Carry out a command; `newest` is the log of the session that the next request continues.

        Raises:
            CoderError: it cannot be done.
        """
        self._print_lines(await asyncio.to_thread(partial(self._answer, name, text, newest)))

    def _answer(self, name: str, text: str, newest: EventLog | None) -> Sequence[str]:
        archive, settings = self._services.archive, self._services.settings
        match name:
            case "diff":
                log = require_service(archive).load(text) if text else newest
                return _diff_lines(log)
            case "context":
                return describe_context(newest.records if newest is not None else ())
            case "sessions":
                return require_service(archive).list()
            case "apply":
                return [require_service(archive).apply(text or "last")]
            case "undo":
                return [require_service(archive).undo(text or "last")]
            case "cost":
                return require_service(archive).costs(text)
            case "doctor":
                return require_service(settings).check()
            case "model" if not text:
                return require_service(settings).models()
            case _ if not text:
                return require_service(settings).show(name)
            case _:
                return [require_service(settings).change(name, text)]

    async def run_shell(self, command: str) -> None:
        """Run a command in the sandbox, print its output, and keep it for the next request if it is short.

        Raises:
            CoderError: it cannot be run.
        """
        if not command:
            raise UserError("! needs a command, such as !ls")
        shell = require_service(self._services.shell)
        objection = await asyncio.to_thread(shell.objection, command)
        question = f"Allow this? {command}   ({objection})"
        if objection and await self._ask(question, ("allow", "refuse")) != "allow":
            self._print_lines(["Not run."])
            return
        output = sanitize_text(await asyncio.to_thread(shell.run, command, Event()))
        self._print_lines(output.splitlines())
        if len(output) <= MOST_CHARACTERS:
            self._outputs.append((command, output))


def _diff_lines(log: EventLog | None) -> Sequence[str]:
    diff = delivered_diff(log.records) if log is not None else ""
    if not diff:
        raise UserError("Nothing has been changed yet.")
    return diff.splitlines()
