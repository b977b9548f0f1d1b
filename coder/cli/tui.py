"""`coder` without a command: the terminal user interface."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coder.core.commands import SessionCommand
    from coder.core.events import SessionFinished
    from coder.sandbox.backends.backend import SandboxBackend
    from coder.session.log import EventLog
    from coder.ui.tui.running import SessionModel
    from coder.wiring.session import SessionHandle


class InteractiveSession:
    """Session that releases its resources when it ends."""

    def __init__(self, handle: "SessionHandle", resources: ExitStack) -> None:
        self._handle = handle
        self._resources = resources

    @property
    def log(self) -> "EventLog":
        return self._handle.log

    def send(self, command: "SessionCommand") -> None:
        self._handle.session.send(command)

    async def run(self) -> "SessionFinished":
        try:
            finish_event = await self._handle.session.run()
        finally:
            await asyncio.to_thread(self._resources.close)
        await asyncio.to_thread(self._handle.start_whole_suite)
        return finish_event


def run_tui(directory: Path = Path(), *, unsafe: bool = False) -> None:
    """Open the interface on the repository that contains a directory.

    Raises:
        UserError: there is none, it cannot be worked on, or the user does not trust it.
    """
    from coder.cli.trusting import ensure_trust
    from coder.repo.git import find_checkout
    from coder.sandbox.choice import require_backend
    from coder.settings import load_config
    from coder.ui.tui.app import CoderApp

    root = find_checkout(directory).root
    walls = require_backend(unsafe=unsafe, image=load_config(root, {}).image)
    trusted = ensure_trust(root, attended=True, is_sandboxed=walls is not None and not walls.limitations)

    async def start(issue: str) -> InteractiveSession:
        return await asyncio.to_thread(_open_session, issue, directory, root, trusted=trusted, walls=walls)

    CoderApp(start, repository=str(root), model=lambda: _choose_model(root)).run()


def _choose_model(root: Path) -> "SessionModel":
    from coder.settings import load_config
    from coder.ui.tui.running import SessionModel
    from coder.wiring.approach import choose_approach

    chosen_approach = choose_approach(load_config(root, {}), model_name=None)
    return SessionModel(
        "" if chosen_approach.is_offline else chosen_approach.model.name, chosen_approach.reason
    )


def _open_session(
    issue: str, directory: Path, root: Path, *, trusted: bool, walls: "SandboxBackend | None"
) -> InteractiveSession:
    from coder.cli.fix import make_task
    from coder.cli.options import read_issue
    from coder.settings import load_config
    from coder.wiring.approach import choose_approach
    from coder.wiring.session import open_session

    config = load_config(root, {})
    task = make_task(read_issue(issue), config, directory=directory, trusted=trusted)
    with ExitStack() as stack:
        chosen_approach = choose_approach(config, model_name=None)
        handle = stack.enter_context(
            open_session(
                task,
                config,
                chosen_approach=chosen_approach,
                root=root,
                walls=walls,
                attended=True,
                reviews=True,
            )
        )
        return InteractiveSession(handle, stack.pop_all())
