"""`coder` without a command: the terminal user interface, and its services."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from coder.core.errors import ToolError, UserError
from coder.files.regular_files import config_directory, index_database, sessions_directory
from coder.repo.git import find_checkout, find_root

if TYPE_CHECKING:
    from coder.core.events import Mode, Restore
    from coder.sandbox.backend import SandboxBackend
    from coder.session.approval import PermissionDecision
    from coder.session.log import EventLog
    from coder.session.session import Session
    from coder.settings import Config
    from coder.ui.tui.commands import (
        OpenedRepository,
        SessionModel,
        TrustQuestion,
        UserRequest,
    )
    from coder.ui.tui.keys import KeyBindings

ERASE_LINE = "\r\x1b[2K"
"""Erases what the terminal has shown of keys that were typed before the interface was there."""
COMMAND_SECONDS = 600
MOST_MESSAGES = 100
"""Sessions whose requests the prompt recalls."""
EFFORTS = ("default", "low", "medium", "high")
HOW_TO_CHANGE = "To take another one from now on: /{}"


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
    from coder.cli.running import print_closing_lines

    root = find_root(directory) or find_checkout(directory).root  # the latter explains why there is none
    services = InterfaceServices(directory, root, flags, unsafe=unsafe, resumed=resumed)
    if services.is_on("screen_reader"):
        print_closing_lines(_converse(services, first_message), root, is_told=True)
        return
    from coder.ui.tui.app import CoderApp

    app = CoderApp(
        services,
        repository=str(root),
        keys=services.key_bindings,
        first_message=first_message,
    )
    is_inline = services.is_on("inline")
    app.run(inline=is_inline, mouse=not is_inline)  # there the mouse scrolls and selects as in any program
    if not is_inline:
        print(ERASE_LINE, end="")
    if app.failure is not None:
        raise app.failure
    print_closing_lines(app.conversation.newest, root, transcript=app.conversation.logs if is_inline else ())


def _converse(services: "InterfaceServices", first_message: str) -> "EventLog | None":
    """Run a conversation in plain lines, and return the log of its newest session."""
    from coder.ui.dialogue import Dialogue, TerminalInput
    from coder.ui.lines import PipedConsole

    terminal = TerminalInput()
    dialogue = Dialogue(
        services,
        console=PipedConsole(force_terminal=False, no_color=True, highlight=False),
        read_line=terminal.read,
        discard_input=terminal.discard,
        first_message=first_message,
    )

    async def run() -> None:
        with terminal.on_interrupt(dialogue.stop):
            await dialogue.run()

    asyncio.run(run())
    return dialogue.newest_log


class InterfaceServices:
    """The repository that the interface works on, opened after the first paint, with all else that it needs.

    Settings are those of the command line, and what the user changes since.
    """

    def __init__(
        self,
        directory: Path,
        root: Path,
        flags: Mapping[str, Any],
        *,
        unsafe: bool = False,
        resumed: str = "",
        servers: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Take `servers`, the MCP servers of an editor in the form of `.mcp.json`."""
        self._servers = servers
        self._directory = directory
        self.root = root
        self.flags = dict(flags)
        """Settings that replace configured ones."""
        self.loaded = ""
        """Id of the session that was loaded last; empty if none was."""
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
        from coder.sandbox.choice import require_backend
        from coder.settings import is_trusted
        from coder.ui.tui.commands import OpenedRepository
        from coder.ui.tui.keys import describe_unknown_bindings

        find_checkout(self._directory)
        config = self.config
        self._backend = require_backend(unsafe=self._unsafe, image=config.image, plugin=config.sandbox)
        is_sandboxed = self._backend is not None and not self._backend.limitations
        needs_trust = not is_sandboxed and not is_trusted(self.root)
        return OpenedRepository(
            trust=_trust_question(self.root, self._backend, self._trust) if needs_trust else None,
            sandbox="full" if is_sandboxed else "reduced" if self._backend else "none",
            notices=describe_unknown_bindings(config.keys),
            initial_log=self.load_session(self._resumed) if self._resumed else None,
        )

    def _trust(self, for_good: bool) -> None:
        """Trust the repository from now on, or until the interface is left."""
        from coder.settings import trust_repository

        self._is_trusted = True
        if for_good:
            trust_repository(self.root)

    async def start(self, request: "UserRequest") -> "Session":
        return await asyncio.to_thread(self._open_session, request)

    def choose_model(self) -> "SessionModel":
        """Return the model of sessions, and load what they need."""
        from coder.settings import load_config
        from coder.ui.tui.commands import SessionModel
        from coder.wiring.conversations import inherit_model
        from coder.wiring.session import choose_approach

        root, flags = self.root, self.flags
        import_module("coder.wiring.session")  # what the first request needs, while the user reads or types
        config = inherit_model(load_config(root, flags), self.loaded, root)
        chosen_approach = choose_approach(config, model_name=flags.get("model"))
        return SessionModel(
            "" if chosen_approach.is_offline else chosen_approach.model.name, chosen_approach.reason
        )

    def _open_session(self, request: "UserRequest") -> "Session":
        """Open a session, which takes the model of the one that was loaded last unless the flags name one."""
        from coder.cli.options import read_request
        from coder.core.events import Attachment, Task
        from coder.sandbox.choice import BackendChoice
        from coder.wiring.session import judging_approach, prepare_session

        judges, plans = request.mode == "verify", request.mode == "plan"
        directory = self._directory
        if judges:
            mentions, asked = "", Task(issue="", directory=directory, needs_ties=False)
            approach, asked = judging_approach(asked, revision=request.text or None)
        else:
            modes: dict[str, Mode] = {"change": "change", "ask": "ask", "build": "build"}
            mode = modes.get(request.mode, "fix")
            given = read_request(request.text, fetches=mode in ("fix", "change"))
            mentions, approach = given.mentions, None
            asked = Task(
                issue=given.issue,
                origin=given.origin,
                directory=directory,
                mode=mode,
                attachments=(
                    *request.attachments,
                    *(
                        Attachment(name=f"output of `{command}`", text=output)
                        for command, output in request.outputs
                    ),
                ),
                continues=request.continues,
                conversation=request.conversation,
                plan_only=plans,
            )
        setup = prepare_session(
            directory,
            flags={**self.flags, **({"strategy": "plan"} if plans else {})},
            trusted=self._is_trusted,
            approach=approach,
            mode=asked.mode,
            continues="" if judges else self.loaded,
            confirm=lambda _: False,  # the user has been asked when the interface opened
            sandbox=BackendChoice(backend=self._backend),
        )
        setup = replace(setup, servers=self._servers)
        task = setup.complete(asked, mentions=mentions)
        with ExitStack() as stack:
            handle = stack.enter_context(setup.open(task, attended=True, reviews=not judges))
            handle.release = stack.pop_all().close
            return handle

    def answer(self, command: str, text: str) -> Sequence[str]:
        from coder.cli import apply, log, machine
        from coder.cli.options import StrategyName

        match command:
            case "sessions":
                lines = log.session_lines(self.root)
                return [log.LISTING_HEAD, *lines] if lines else lines
            case "apply":
                return [apply.apply_session(self.root, text or "last")]
            case "undo":
                return [apply.undo_session(self.root, text or "last")]
            case "cost":
                by = next((name for name in get_args(log.Grouping) if name == (text or "day")), None)
                if by is None:
                    raise UserError(f"Costs are added up by {', '.join(get_args(log.Grouping))}.")
                return log.cost_lines(by)
            case "doctor":
                return list(machine.doctor_lines(self.root))
            case _ if text:
                return [self._change_setting(command, text)]
            case "model":
                return [
                    *machine.model_lines(self.config, self.flags.get("model")),
                    HOW_TO_CHANGE.format("model PROVIDER:NAME"),
                ]
            case "effort":
                return [
                    f"{self.config.effort}, of {', '.join(EFFORTS)}",
                    HOW_TO_CHANGE.format("effort LEVEL"),
                ]
        names = ", ".join(get_args(StrategyName))
        return [f"{self.config.strategy or 'linear'}, of {names}", HOW_TO_CHANGE.format("strategy NAME")]

    def load_session(self, session: str) -> "EventLog":
        from coder.session.log import EventLog, find_session, read_records

        directory = find_session(session, repository=self.root, conversation=True)
        log = EventLog(records=read_records(directory))
        log.close()
        self.loaded = directory.name
        return log

    def list_requests(self, session: str) -> Sequence[str]:
        from coder.session.log import boundary_events, list_conversation

        starts = (boundary_events(path)[0] for path in list_conversation(sessions_directory() / session))
        return [started.task.issue if started else "" for started in starts]

    def go_back(self, session: str, request: int, restore: "Restore") -> tuple[str, str]:
        from coder.cli.log import describe_point
        from coder.wiring.conversations import go_back

        point = go_back(f"{session}@{request}", self.root, restore=restore)
        return point.session, describe_point(point)

    def read_messages(self) -> Sequence[str]:
        from coder.session.log import stored_sessions

        newest = islice(stored_sessions(self.root), MOST_MESSAGES)
        return [session.started.task.issue for session in newest if not session.started.task.given][::-1]

    def custom_commands(self) -> Mapping[str, str]:
        from coder.wiring.extensions import find_commands

        return {name: command.description for name, command in find_commands(self.root).items()}

    def expand_command(self, name: str, words: str) -> tuple[str, str] | None:
        from coder.settings import is_trusted
        from coder.ui.tui.commands import MODES
        from coder.wiring.extensions import find_commands, require_command

        if name not in find_commands(self.root, trusted=True):
            return None
        command = require_command(self.root, name, trusted=is_trusted(self.root))
        return command.expand(words), MODES[command.mode]

    def list_paths(self) -> Sequence[str]:
        from coder.files.ripgrep import list_paths
        from coder.permissions.secrets import readable_paths

        try:
            paths = list_paths(self.root)
        except ToolError as error:
            raise UserError(str(error)) from None
        readable = readable_paths(paths)
        return [path for path in paths if path in readable]

    def list_symbols(self) -> Sequence[str]:
        from coder.index.index import SymbolIndex

        try:
            return SymbolIndex(self.root, index_database(self.root)).refresh().defined_names()
        except ToolError as error:
            raise UserError(str(error)) from None

    def find_objection(self, command: str) -> str:
        decision = self._decide(command)
        if decision.action == "deny":
            raise UserError(f"Not run: {decision.why}.")
        return decision.why if decision.action == "ask" else ""

    def run_command(self, command: str, stop: Event) -> str:
        """Run a command in the user's checkout, which it may read and not change."""
        from coder.core.ports import Limits
        from coder.core.values import Policy
        from coder.wiring.project_runtime import make_sandbox

        with make_sandbox(self._backend, self.config) as sandbox:
            execution = sandbox.run(
                ["sh", "-c", command],
                cwd=self.root,
                policy=Policy(writes=False, network=self._decide(command).network),
                limits=Limits(wall_seconds=COMMAND_SECONDS),
                cut=stop,
            )
        code = "stopped" if execution.exit_code is None else f"exit code {execution.exit_code}"
        end = execution.exceeded or code
        return f"{execution.output.rstrip()}\n[{end}, {execution.seconds:.1f} s]".lstrip("\n")

    def _decide(self, command: str) -> "PermissionDecision":
        from coder.session.approval import decide_command
        from coder.wiring.session import make_permissions

        permissions = make_permissions(self.config, self.root, is_sandboxed=self._backend is not None)
        return decide_command(permissions, command, root=self.root)

    @property
    def config(self) -> "Config":
        from coder.settings import load_config

        return load_config(self.root, self.flags)

    def _change_setting(self, name: str, value: str) -> str:
        from coder.settings import load_config
        from coder.wiring.session import choose_approach

        value = value.strip()
        flags = {**self.flags, name: value}
        config = load_config(self.root, flags)
        if name in ("model", "strategy"):
            choose_approach(config, model_name=flags.get("model"))
        self.flags[name] = value
        return f"From the next request on: {name} {value}"

    @property
    def key_bindings(self) -> "KeyBindings":
        """Keys of the interface.

        Raises:
            UserError: a setting is invalid.
        """
        from coder.ui.tui.keys import KeyBindings, read_key_bindings

        if not _may_be_set("keys", "vim"):
            return KeyBindings()
        config = self.config
        return read_key_bindings(config.keys, has_vim=config.vim)

    def is_on(self, name: Literal["inline", "screen_reader"]) -> bool:
        """Tell whether a setting that decides on the interface is switched on."""
        return bool(self.flags.get(name)) or (_may_be_set(name) and bool(getattr(self.config, name)))


def _may_be_set(*names: str) -> bool:
    """Tell whether the user may have set one of some settings of their own.

    Reading the settings takes as long as half of the interface's first paint, looking for a word nothing.
    """
    try:
        text = (config_directory() / "config.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return any(name in text or f"CODER_{name.upper()}" in os.environ for name in names)


def _trust_question(
    root: Path, backend: "SandboxBackend | None", trust: "Callable[[bool], None]"
) -> "TrustQuestion":
    """Return the question on a repository whose tests would run without a full sandbox."""
    from coder.ui.tui.commands import TrustQuestion
    from coder.wiring.project_runtime import trust_details, trust_question

    return TrustQuestion(
        text=trust_question(root, backend),
        details=trust_details(root, backend),
        decline="no, leave"
        if backend is None
        else "no, run its tests in the sandbox without its instructions",
        can_decline=backend is not None,
        trust=trust,
    )
