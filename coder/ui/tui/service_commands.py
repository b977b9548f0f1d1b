"""Commands of the prompt that the services carry out, and commands for the shell."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from threading import Event
from typing import TypeVar

from coder.core.errors import UserError
from coder.core.values.text import sanitize_text
from coder.ui.tui.screens.session import SessionScreen
from coder.ui.tui.services import Services

MOST_CHARACTERS = 4_000
"""Longest output of a command that goes with the next request."""
MOST_LINES = 200
"""Lines of an output that are shown."""
Service = TypeVar("Service")


class ServiceCommands:
    """Runs one command at a time, and shows its answer."""

    def __init__(
        self, screen: SessionScreen, services: Services, confirm: Callable[[str], Awaitable[bool]]
    ) -> None:
        """Take `confirm`, which asks the user."""
        self._screen = screen
        self._services = services
        self._confirm = confirm
        self._stop = Event()
        self._outputs: list[tuple[str, str]] = []
        self._handlers: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "sessions": self._list_sessions,
            "apply": self._apply,
            "undo": self._undo,
            "cost": self._show_costs,
            "doctor": self._check,
            "model": self._show_or_change_model,
            "strategy": lambda text: self._show_or_change("strategy", text),
            "budget": lambda text: self._show_or_change("budget", text),
        }

    def take_outputs(self) -> tuple[tuple[str, str], ...]:
        """Return the commands since the last request, each with its output, and forget them."""
        outputs = tuple(self._outputs)
        self._outputs.clear()
        return outputs

    def stop(self) -> None:
        """Stop a running shell command."""
        self._stop.set()

    async def run(self, name: str, text: str) -> None:
        """Carry out a command of the prompt.

        Raises:
            CoderError: it cannot be done.
        """
        await self._handlers[name](text)

    async def run_shell(self, command: str) -> None:
        """Run a command in the sandbox, show its output, and keep it for the next request if it is short.

        Raises:
            CoderError: it must not be run, or could not be started.
        """
        shell = _require(self._services.shell)
        self._stop = Event()
        objection = await asyncio.to_thread(shell.objection, command)
        if objection and not await self._confirm(f"Allow this? {command}   ({objection})"):
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

    async def _list_sessions(self, _: str) -> None:
        self._screen.show_lines(await asyncio.to_thread(_require(self._services.archive).list))

    async def _apply(self, session: str) -> None:
        act = _require(self._services.archive).apply
        self._screen.show_lines([await asyncio.to_thread(act, session or "last")])

    async def _undo(self, session: str) -> None:
        act = _require(self._services.archive).undo
        self._screen.show_lines([await asyncio.to_thread(act, session or "last")])

    async def _show_costs(self, unit: str) -> None:
        self._screen.show_lines(await asyncio.to_thread(_require(self._services.archive).costs, unit))

    async def _check(self, _: str) -> None:
        self._screen.show_lines(await asyncio.to_thread(_require(self._services.settings).check))

    async def _show_or_change_model(self, name: str) -> None:
        settings = _require(self._services.settings)
        if name:
            self._screen.show_lines([await asyncio.to_thread(settings.change, "model", name)])
        else:
            self._screen.show_lines(await asyncio.to_thread(settings.models))

    async def _show_or_change(self, name: str, value: str) -> None:
        settings = _require(self._services.settings)
        if value:
            self._screen.show_lines([await asyncio.to_thread(settings.change, name, value)])
        else:
            self._screen.show_lines(await asyncio.to_thread(settings.show, name))


def _require(service: Service | None) -> Service:
    if service is None:
        raise UserError("This is the record of a session, nothing more.")
    return service
