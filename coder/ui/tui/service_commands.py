"""Commands of the prompt that services carry out."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING

from textual.app import App

from coder.core.errors import UserError
from coder.core.text import sanitize_text
from coder.ui.tui.commands import (
    CLOSED_COMMANDS,
    CommandArguments,
    carry_out,
    explain_unknown_argument,
)
from coder.ui.tui.services import MOST_CHARACTERS, Services, require_service
from coder.ui.tui.session_screen import SessionScreen

if TYPE_CHECKING:
    from coder.session.log import EventLog

MOST_LINES = 200
"""Lines of an output that are shown."""
SINGLE_WORD_COMMANDS = ("theme", "model", "strategy", "cost", "diff", "apply", "undo")


class ServiceCommands:
    """Runs one command at a time, and shows its answer."""

    def __init__(
        self,
        app: App[None],
        screen: SessionScreen,
        services: Services,
        *,
        newest: Callable[[], "EventLog | None"],
        arguments: CommandArguments,
    ) -> None:
        """Take `newest`, which returns the log of the session that the next request continues."""
        self._app = app
        self._screen = screen
        self._services = services
        self._newest = newest
        self._arguments = arguments
        self._stop = Event()
        self._outputs: list[tuple[str, str]] = []

    def take_outputs(self) -> tuple[tuple[str, str], ...]:
        """Return the commands since the last request, each with its output, and forget them."""
        outputs = tuple(self._outputs)
        self._outputs.clear()
        return outputs

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
        if words and name in CLOSED_COMMANDS:
            await self._check_argument(name, words[0])
        match name:
            case "!":
                await self._run_shell(text)
            case "diff":
                await self._show_diff(text)
            case "copy":
                self._copy_answer()
            case "theme":
                self._show_or_change_theme(text)
            case _:
                self._screen.show_lines(await asyncio.to_thread(carry_out, self._services, name, text))

    async def _check_argument(self, name: str, value: str) -> None:
        known = await asyncio.to_thread(self._arguments.list, name)
        if known and value not in (argument.value for argument in known):
            raise UserError(explain_unknown_argument(name, value, known))

    async def _run_shell(self, command: str) -> None:
        """Run a command in the sandbox, show its output, and keep it for the next request if it is short."""
        shell = require_service(self._services.shell)
        self._stop = Event()
        objection = await asyncio.to_thread(shell.objection, command)
        if objection and not await self._confirm(command, objection):
            self._screen.show_lines(["Not run."])
            return
        output = sanitize_text(await asyncio.to_thread(shell.run, command, self._stop))
        lines = output.splitlines()
        hidden = len(lines) - MOST_LINES
        shown = [*([f"[{hidden} lines before]"] if hidden > 0 else []), *lines[-MOST_LINES:]]
        self._screen.show_lines(["\n".join(shown)], "output")
        if len(output) <= MOST_CHARACTERS:
            self._outputs.append((command, output))
        else:
            self._screen.show_lines(["This output is too long to go with your next request."])

    async def _confirm(self, command: str, objection: str) -> bool:
        from coder.ui.tui.asking import ask_user

        question = f"Allow this? {command}   ({objection})"
        return await ask_user(self._app, question, options=("allow", "refuse")) == "allow"

    async def _show_diff(self, session: str) -> None:
        from coder.core.state import delivered_diff

        log = self._newest()
        if session:
            log = await asyncio.to_thread(require_service(self._services.archive).load, session)
        diff = delivered_diff(log.records) if log is not None else ""
        if not diff:
            raise UserError("Nothing has been changed yet.")
        self._screen.show_diff(diff)

    def show_context(self, log: "EventLog | None") -> None:
        """Show what fills the model's context window in the conversation of a session."""
        from coder.core.state import describe_context

        self._screen.show_lines(describe_context(log.records if log is not None else ()))

    def _copy_answer(self) -> None:
        from coder.core.state import newest_answer

        log = self._newest()
        answer = newest_answer(log.records) if log is not None else ""
        if not answer:
            raise UserError("There is no answer to copy yet.")
        self._app.copy_to_clipboard(answer)
        self._screen.show_lines(["Copied the newest answer."])

    def _show_or_change_theme(self, name: str) -> None:
        if not name:
            self._screen.show_lines(
                f"{'*' if theme == self._app.theme else ' '} {theme}" for theme in self._app.available_themes
            )
        else:
            self._app.theme = name
