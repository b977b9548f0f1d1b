"""`coder` without a command: the terminal user interface."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coder.core.commands import Word
    from coder.core.events import SessionFinished
    from coder.sandbox.backends.backend import Walls
    from coder.session.log import EventLog
    from coder.ui.tui.running import Chosen
    from coder.wiring.session import Opened


class OpenSession:
    """Session that releases its resources when it ends."""

    def __init__(self, handle: "Opened", resources: ExitStack) -> None:
        self._handle = handle
        self._resources = resources

    @property
    def log(self) -> "EventLog":
        return self._handle.log

    def send(self, word: "Word") -> None:
        self._handle.session.send(word)

    async def run(self) -> "SessionFinished":
        try:
            return await self._handle.session.run()
        finally:
            await asyncio.to_thread(self._resources.close)


def run_tui(directory: Path = Path(), *, unsafe: bool = False) -> None:
    """Open the interface on the repository that contains a directory.

    Raises:
        UserError: there is none, it cannot be worked on, or the user does not trust it.
    """
    from coder.cli.trusting import settle
    from coder.repo.git import find
    from coder.sandbox.choice import required
    from coder.settings import configured
    from coder.ui.tui.app import CoderApp

    root = find(directory).root
    walls = required(unsafe=unsafe, image=configured(root, {}).image)
    trusted = settle(root, attended=True, walled=walls is not None and not walls.reduced)

    async def start(issue: str) -> OpenSession:
        return await asyncio.to_thread(_open_session, issue, directory, root, trusted=trusted, walls=walls)

    CoderApp(start, repository=str(root), model=lambda: _choose_model(root)).run()


def _choose_model(root: Path) -> "Chosen":
    from coder.settings import configured
    from coder.ui.tui.running import Chosen
    from coder.wiring.approach import approach

    chosen_approach = approach(configured(root, {}), named=None)
    return Chosen("" if chosen_approach.alone else chosen_approach.model.name, chosen_approach.reason)


def _open_session(
    issue: str, directory: Path, root: Path, *, trusted: bool, walls: "Walls | None"
) -> OpenSession:
    from coder.cli.fix import task_for
    from coder.cli.options import issue_text
    from coder.settings import configured
    from coder.wiring.approach import approach
    from coder.wiring.session import open_fix

    config = configured(root, {})
    task = task_for(issue_text(issue), config, directory=directory, trusted=trusted)
    with ExitStack() as stack:
        chosen_approach = approach(config, named=None)
        handle = stack.enter_context(
            open_fix(task, config, how=chosen_approach, root=root, walls=walls, attended=True, reviews=True)
        )
        return OpenSession(handle, stack.pop_all())
