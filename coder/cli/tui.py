"""`coder` without a command: the terminal user interface."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coder.cli.tui_services import InterfaceSettings, StoredSessions
    from coder.core.events import SessionCommand, SessionFinished
    from coder.core.task import Mode
    from coder.sandbox.backend import SandboxBackend
    from coder.session.log import EventLog
    from coder.ui.tui.services import (
        OpenedRepository,
        Overview,
        Services,
        SessionModel,
        TrustQuestion,
        UserRequest,
    )
    from coder.wiring.session import SessionHandle

SHOWN_SESSIONS = 2
"""Earlier sessions on the start screen."""


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
            return await self._handle.session.run()
        finally:
            await asyncio.to_thread(self._resources.close)


ERASE_LINE = "\r\x1b[2K"
"""Erases what the terminal has shown of keys that were typed before the interface was there."""


class InterfaceRepository:
    """The repository that the interface works on; it is opened after the first paint."""

    def __init__(
        self,
        directory: Path,
        root: Path,
        settings: "InterfaceSettings",
        *,
        archive: "StoredSessions",
        unsafe: bool,
        resumed: str,
    ) -> None:
        self._directory = directory
        self._root = root
        self._settings = settings
        self._archive = archive
        self._unsafe = unsafe
        self._resumed = resumed
        self._backend: SandboxBackend | None = None
        self._is_trusted = False
        """True once the user has trusted the repository in this interface."""

    def open(self) -> "OpenedRepository":
        """Check the repository, choose the sandbox, and read the session to resume.

        Raises:
            UserError: the repository cannot be worked on, or there is no such session.
        """
        from coder.repo.git import find_checkout
        from coder.sandbox.choice import require_backend
        from coder.trust import is_trusted
        from coder.ui.tui.keys import describe_removed_bindings
        from coder.ui.tui.services import OpenedRepository, RecordedSession

        find_checkout(self._directory)
        config = self._settings.config
        self._backend = require_backend(unsafe=self._unsafe, image=config.image)
        is_sandboxed = self._backend is not None and not self._backend.limitations
        needs_trust = not is_sandboxed and not is_trusted(self._root)
        return OpenedRepository(
            trust=_trust_question(self._root, self._backend, self._trust) if needs_trust else None,
            has_alerts=config.alerts,
            notices=describe_removed_bindings(config.keys),
            initial_session=RecordedSession(self._archive.load(self._resumed)) if self._resumed else None,
        )

    def overview(self) -> "Overview":
        """Return the facts for the start screen.

        Raises:
            CoderError: git or the tests' configuration cannot be read.
        """
        from coder.cli.log import recent_requests
        from coder.repo.checkout import describe_branch
        from coder.ui.tui.services import Overview
        from coder.verify.project import SuiteHistory
        from coder.wiring.preparation import inspect_project
        from coder.wiring.project_runtime import suite_history_path

        command = inspect_project(self._root, backend=self._backend).command.text
        limited = "reduced" if self._backend and self._backend.limitations else "full"
        return Overview(
            branch=describe_branch(self._root),
            test_command=command,
            red_tests=SuiteHistory(suite_history_path(self._root), command).read().red,
            sessions=tuple(recent_requests(self._root, SHOWN_SESSIONS)),
            sandbox=limited if self._backend else "none",
        )

    def _trust(self, for_good: bool) -> None:
        """Trust the repository from now on, or until the interface is left."""
        from coder.trust import trust_repository

        self._is_trusted = True
        if for_good:
            trust_repository(self._root)

    def backend(self) -> "SandboxBackend | None":
        return self._backend

    async def start(self, request: "UserRequest") -> InteractiveSession:
        return await asyncio.to_thread(self._open_session, request)

    def choose_model(self) -> "SessionModel":
        """Return the model of sessions, and load what they need."""
        from coder.settings import load_config
        from coder.ui.tui.services import SessionModel
        from coder.wiring.conversations import inherit_model
        from coder.wiring.session import choose_approach

        root, flags = self._root, self._settings.flags
        import_module("coder.wiring.session")  # what the first request needs, while the user reads or types
        config = inherit_model(load_config(root, flags), self._archive.loaded, root)
        chosen_approach = choose_approach(config, model_name=flags.get("model"))
        return SessionModel(
            "" if chosen_approach.is_offline else chosen_approach.model.name, chosen_approach.reason
        )

    def _open_session(self, request: "UserRequest") -> InteractiveSession:
        """Open a session, which takes the model of the one that was loaded last unless the flags name one."""
        from coder.cli.options import read_issue, typed_mentions
        from coder.core.task import Attachment
        from coder.settings import load_config
        from coder.trust import is_trusted
        from coder.wiring.conversations import inherit_model
        from coder.wiring.session import SessionSetup, allows_unpriced, choose_approach, judging_approach

        root, flags = self._root, self._settings.flags
        plans = request.mode == "plan"
        config = load_config(root, {**flags, "strategy": "plan"} if plans else flags)
        judges = request.mode == "verify"
        if judges:
            approach = judging_approach(
                self._directory, diff=None, revision=request.text or None, against=None
            )
        else:
            config = inherit_model(config, self._archive.loaded, root)
            modes: dict[str, Mode] = {"change": "change", "ask": "ask", "build": "build"}
            mode = modes.get(request.mode, "fix")
            approach = choose_approach(config, model_name=flags.get("model"), mode=mode, root=root)
        setup = SessionSetup(
            root=root,
            config=config,
            backend=self._backend,
            trusted=self._is_trusted or is_trusted(root),
            approach=approach,
            unpriced=allows_unpriced(flags),
        )
        if judges:
            task = setup.make_task("", directory=self._directory, needs_ties=False)
        else:
            task = setup.make_task(
                read_issue(request.text),
                mentions=typed_mentions(request.text),
                directory=self._directory,
                mode=mode,
                attachments=tuple(
                    Attachment(name=f"output of `{command}`", text=output)
                    for command, output in request.outputs
                ),
                continues=request.continues,
                plan_only=plans,
            )
        with ExitStack() as stack:
            handle = stack.enter_context(setup.open(task, attended=True, reviews=not judges))
            return InteractiveSession(handle, stack.pop_all())


def run_tui(
    directory: Path = Path(),
    *,
    flags: Mapping[str, Any],
    unsafe: bool = False,
    resumed: str = "",
    first_message: str = "",
) -> None:
    """Open the interface on the repository that contains a directory, and with the session `resumed`.

    The `first_message` is sent as if it had been typed.

    `flags` replace settings, which may ask for a conversation in plain lines instead.

    Raises:
        UserError: there is none, or it cannot be worked on.
    """
    from coder.cli.terminal import print_closing_lines
    from coder.cli.tui_services import (
        IndexedNames,
        InterfaceSettings,
        SandboxShell,
        StoredHistory,
        StoredSessions,
    )
    from coder.repo.git import find_checkout, find_root
    from coder.ui.tui.services import Services

    root = find_root(directory) or find_checkout(directory).root  # the latter explains why there is none
    settings = InterfaceSettings(root, flags)
    archive = StoredSessions(root)
    repository = InterfaceRepository(
        directory, root, settings, archive=archive, unsafe=unsafe, resumed=resumed
    )
    services = Services(
        archive=archive,
        names=IndexedNames(root),
        shell=SandboxShell(root, settings, backend=repository.backend),
        settings=settings,
        history=StoredHistory(root),
        overview=repository.overview,
    )
    if settings.is_on("screen_reader"):
        print_closing_lines(_converse(repository, services, first_message), root, is_told=True)
        return
    from coder.ui.tui.app import CoderApp

    app = CoderApp(
        repository.start,
        repository=str(root),
        model=repository.choose_model,
        services=services,
        open_repository=repository.open,
        theme=settings.theme,
        keys=settings.key_bindings,
        first_message=first_message,
    )
    is_inline = settings.is_on("inline")
    app.run(inline=is_inline, mouse=not is_inline)  # there the mouse scrolls and selects as in any program
    if not is_inline:
        print(ERASE_LINE, end="")
    if app.failure is not None:
        raise app.failure
    print_closing_lines(app.newest_log, root, transcript=app.session_logs if is_inline else ())


def _converse(repository: InterfaceRepository, services: "Services", first_message: str) -> "EventLog | None":
    """Run a conversation in plain lines, and return the log of its newest session."""
    from coder.ui.dialogue import Dialogue, TerminalInput
    from coder.ui.lines import PipedConsole

    terminal = TerminalInput()
    dialogue = Dialogue(
        repository.start,
        console=PipedConsole(force_terminal=False, no_color=True, highlight=False),
        read_line=terminal.read,
        discard_input=terminal.discard,
        model=repository.choose_model,
        services=services,
        open_repository=repository.open,
        first_message=first_message,
    )

    async def run() -> None:
        with terminal.on_interrupt(dialogue.stop):
            await dialogue.run()

    asyncio.run(run())
    return dialogue.newest_log


def _trust_question(
    root: Path, backend: "SandboxBackend | None", trust: "Callable[[bool], None]"
) -> "TrustQuestion":
    """Return the question on a repository whose tests would run without a full sandbox."""
    from coder.ui.tui.services import TrustQuestion
    from coder.wiring.preparation import trust_details, trust_question

    return TrustQuestion(
        text=trust_question(root, backend),
        details=trust_details(root, backend),
        decline="no, leave" if backend is None else "no, run its tests in the sandbox without AGENTS.md",
        can_decline=backend is not None,
        trust=trust,
    )
