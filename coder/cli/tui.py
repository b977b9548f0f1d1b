"""`coder` without a command: the terminal user interface."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coder.core.commands import SessionCommand
    from coder.core.events import SessionFinished
    from coder.core.values.task import Mode
    from coder.sandbox.backends.backend import SandboxBackend
    from coder.session.log import EventLog
    from coder.ui.tui.running import SessionModel, TrustQuestion, UserRequest
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


def run_tui(
    directory: Path = Path(), *, flags: Mapping[str, Any], unsafe: bool = False, resumed: str = ""
) -> None:
    """Open the interface on the repository that contains a directory, and with the session `resumed`.

    `flags` replace settings.

    Raises:
        UserError: there is none, or it cannot be worked on.
    """
    from coder.cli.tui_services import IndexedNames, InterfaceSettings, SandboxShell, StoredSessions
    from coder.repo.git import find_checkout
    from coder.sandbox.choice import require_backend
    from coder.settings import load_config
    from coder.trust import is_trusted
    from coder.ui.tui.app import CoderApp
    from coder.ui.tui.keys import read_key_bindings
    from coder.ui.tui.running import RecordedSession, UserRequest
    from coder.ui.tui.services import Services

    root = find_checkout(directory).root
    config = load_config(root, flags)
    walls = require_backend(unsafe=unsafe, image=config.image)
    settings = InterfaceSettings(root, flags)
    is_sandboxed = walls is not None and not walls.limitations

    async def start(request: UserRequest) -> InteractiveSession:
        return await asyncio.to_thread(
            _open_session, request, directory, root, settings.flags, trusted=is_trusted(root), walls=walls
        )

    archive = StoredSessions(root)
    app = CoderApp(
        start,
        repository=str(root),
        model=lambda: _choose_model(root, settings.flags),
        services=Services(
            archive=archive,
            names=IndexedNames(root),
            shell=SandboxShell(root, settings, walls=walls),
            settings=settings,
        ),
        theme=settings.theme,
        keys=read_key_bindings(config.keys, has_vim=config.vim),
        has_alerts=config.alerts,
        trust=None if is_sandboxed or is_trusted(root) else _trust_question(root, walls),
        initial_session=RecordedSession(archive.load(resumed)) if resumed else None,
    )
    app.run()
    _print_farewell(app.newest_log, root)


def _trust_question(root: Path, walls: "SandboxBackend | None") -> "TrustQuestion":
    """Return the question on a repository whose tests would run without a full sandbox."""
    from coder.trust import trust_repository
    from coder.ui.tui.running import TrustQuestion
    from coder.wiring.preparation import trust_question

    return TrustQuestion(
        text=trust_question(root, walls),
        decline="leave" if walls is None else "go on in the sandbox",
        can_decline=walls is not None,
        trust=lambda: trust_repository(root),
    )


def _print_farewell(log: "EventLog | None", root: Path) -> None:
    """Print what became of the newest session, and how to go on with it."""
    from rich.console import Console

    from coder.core.events import SessionFinished, SessionStarted
    from coder.repo.delivery.checkout import has_delivery
    from coder.repo.git import find_checkout
    from coder.ui.summary import summary_lines

    records = log.records if log is not None else ()
    if not records or not isinstance(started := records[0].event, SessionStarted):
        return
    console = Console(highlight=False)
    if isinstance(finished := records[-1].event, SessionFinished):
        delivery = finished.delivery
        is_undone = delivery is not None and not has_delivery(find_checkout(root).git, delivery)
        for line in summary_lines(finished, session=started.session):
            is_outdated = is_undone and line.plain.startswith("next")
            console.print("next     it was taken back since" if is_outdated else line)
    console.print(f"resume   coder resume {started.session}")


def _choose_model(root: Path, flags: Mapping[str, Any]) -> "SessionModel":
    from coder.settings import load_config
    from coder.ui.tui.running import SessionModel
    from coder.wiring.approach import choose_approach

    import_module("coder.wiring.session")  # what the first request needs, while the user reads or types
    chosen_approach = choose_approach(load_config(root, flags), model_name=flags.get("model"))
    return SessionModel(
        "" if chosen_approach.is_offline else chosen_approach.model.name, chosen_approach.reason
    )


def _open_session(
    request: "UserRequest",
    directory: Path,
    root: Path,
    flags: Mapping[str, Any],
    *,
    trusted: bool,
    walls: "SandboxBackend | None",
) -> InteractiveSession:
    from coder.cli.options import read_issue, typed_mentions
    from coder.core.values.task import Attachment
    from coder.settings import load_config
    from coder.wiring.approach import choose_approach
    from coder.wiring.preparation import make_task, read_attachments
    from coder.wiring.session import open_session

    if request.mode == "verify":
        return _open_judgement(request.text, directory, root, flags, trusted=trusted, walls=walls)
    plans = request.mode == "plan"
    config = load_config(root, {**flags, "strategy": "plan"} if plans else flags)
    modes: dict[str, Mode] = {"change": "change", "ask": "ask", "build": "build"}
    mode = modes.get(request.mode, "fix")
    outputs = tuple(
        Attachment(name=f"output of `{command}`", text=output) for command, output in request.outputs
    )
    task = make_task(
        read_issue(request.text),
        config,
        directory=directory,
        trusted=trusted,
        mode=mode,
        attachments=(*outputs, *read_attachments(typed_mentions(request.text), root, config)),
        continues=request.continues,
        plan_only=plans,
    )
    with ExitStack() as stack:
        chosen_approach = choose_approach(config, model_name=flags.get("model"), mode=mode)
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


def _open_judgement(
    revision: str,
    directory: Path,
    root: Path,
    flags: Mapping[str, Any],
    *,
    trusted: bool,
    walls: "SandboxBackend | None",
) -> InteractiveSession:
    """Open a session that judges a revision, or the uncommitted work, as `coder verify` does."""
    from coder.settings import load_config
    from coder.wiring.approach import judging_approach
    from coder.wiring.preparation import UNKNOWN_PURPOSE, make_task
    from coder.wiring.session import open_session

    config = load_config(root, flags)
    chosen_approach, existing_task = judging_approach(
        directory, diff=None, revision=revision or None, against=None
    )
    task = make_task(
        existing_task.issue or UNKNOWN_PURPOSE,
        config,
        directory=directory,
        trusted=trusted,
        base=existing_task.base,
        given=True,
        needs_ties=False,
    )
    with ExitStack() as stack:
        opened = open_session(
            task, config, chosen_approach=chosen_approach, root=root, walls=walls, attended=True
        )
        handle = stack.enter_context(opened)
        return InteractiveSession(handle, stack.pop_all())
