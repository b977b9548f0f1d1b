"""Services of the interface: stored sessions, names, settings, and commands in the sandbox."""

import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from coder.cli.terminal import _theme_file, is_interface_setting_on, may_be_set, remembered_theme
from coder.core.documents import parse_json
from coder.core.errors import ToolError, UserError

if TYPE_CHECKING:
    from coder.core.task import Restore
    from coder.sandbox.backend import SandboxBackend
    from coder.session.approval import PermissionDecision
    from coder.session.log import EventLog
    from coder.settings import Config
    from coder.ui.tui.keys import KeyBindings

COMMAND_SECONDS = 600
MOST_COMMITS = 100
"""Newest commits whose files the completion of names prefers."""
MOST_MESSAGES = 1_000
"""Messages of earlier sessions that the prompt recalls."""
LIMITS = {"usd": "max_usd", "tokens": "max_tokens", "seconds": "max_seconds", "requests": "max_requests"}
"""Settings of the limits that /budget shows and sets."""


class StoredSessions:
    def __init__(self, root: Path) -> None:
        self._root = root
        self.loaded = ""
        """Id of the session that was loaded last; empty if none was."""

    def list(self) -> Sequence[str]:
        from coder.cli.log import session_lines

        return session_lines(self._root)

    def load(self, session: str) -> "EventLog":
        from coder.session.log import EventLog
        from coder.store.jsonl import find_session, read_records

        directory = find_session(session, repository=self._root, conversation=True)
        log = EventLog(records=read_records(directory))
        log.close()
        self.loaded = directory.name
        return log

    def requests(self, session: str) -> Sequence[str]:
        from coder.directories import sessions_directory
        from coder.store.jsonl import boundary_events, list_conversation

        starts = (boundary_events(path)[0] for path in list_conversation(sessions_directory() / session))
        return [started.task.issue if started else "" for started in starts]

    def go_back(self, session: str, request: int, restore: "Restore") -> tuple[str, str]:
        from coder.cli.log import describe_point
        from coder.wiring.conversations import go_back

        point = go_back(f"{session}@{request}", self._root, restore=restore, forks=False)
        return point.session, describe_point(point, forks=False)

    def apply(self, session: str) -> str:
        from coder.cli.apply import apply_session

        return apply_session(self._root, session)

    def undo(self, session: str) -> str:
        from coder.cli.apply import undo_session

        return undo_session(self._root, session)

    def costs(self, unit: str) -> Sequence[str]:
        from coder.cli.log import Grouping, cost_lines

        return cost_lines(Grouping(unit or "day"))


class StoredHistory:
    """Messages sent from the prompt in a repository: lines of JSON, which only the user may read."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self) -> Sequence[str]:
        from coder.directories import prompt_history_file

        try:
            lines = prompt_history_file(self._root).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
        return [text for line in lines[-MOST_MESSAGES:] if (text := _read_message(line))]

    def add(self, text: str) -> None:
        """Append a message, with secrets masked; drop the oldest ones once there are too many."""
        from coder.directories import prompt_history_file
        from coder.files.regular_files import replace_text
        from coder.permissions.secrets import Secrets, secret_environment_values

        private = Secrets(own=secret_environment_values(os.environ), key=secrets.token_bytes(16))
        path = prompt_history_file(self._root)
        with suppress(OSError):  # a message that is not kept is no reason to refuse it
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "a+", encoding="utf-8") as file:
                file.write(f"{json.dumps(private.mask(text))}\n")
                file.seek(0)
                lines = file.readlines()
            if len(lines) > 2 * MOST_MESSAGES:
                replace_text(path, "".join(lines[-MOST_MESSAGES:]))


def _read_message(line: str) -> str:
    """Return the message of a line; empty if it cannot be read."""
    try:
        message = parse_json(line)
    except ValueError:
        return ""
    return message if isinstance(message, str) else ""


class IndexedNames:
    """Paths and symbols of a repository, from its index."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def paths(self) -> Sequence[str]:
        from coder.files.ripgrep import list_paths
        from coder.permissions.private_files import readable_paths

        try:
            paths = list_paths(self._root)
        except ToolError as error:
            raise UserError(str(error)) from None
        readable = readable_paths(paths)
        return [path for path in paths if path in readable]

    def recent_paths(self) -> Sequence[str]:
        """Return the files with uncommitted changes, then those of the newest commits."""
        from coder.core.errors import GitError
        from coder.repo.git import find_checkout

        git = find_checkout(self._root).git
        changed = ("--name-only", "--relative", "-z")
        try:
            uncommitted = git.items("diff", *changed, "HEAD")
            committed = git.items("log", f"-{MOST_COMMITS}", "--format=", *changed)
            return [*dict.fromkeys((*uncommitted, *committed))]
        except GitError:
            return []  # there is no commit yet

    def symbols(self) -> Sequence[str]:
        from coder.directories import index_database
        from coder.index.index import SymbolIndex

        try:
            return SymbolIndex(self._root, index_database(self._root)).refresh().defined_names()
        except ToolError as error:
            raise UserError(str(error)) from None


class SandboxShell:
    """Runs commands in the user's checkout, which they may read and not change."""

    def __init__(
        self, root: Path, settings: "InterfaceSettings", *, backend: "Callable[[], SandboxBackend | None]"
    ) -> None:
        self._root = root
        self._settings = settings
        self._backend = backend

    def objection(self, command: str) -> str:
        decision = self._decide(command)
        if decision.action == "deny":
            raise UserError(f"Not run: {decision.why}.")
        return decision.why if decision.action == "ask" else ""

    def run(self, command: str, stop: Event) -> str:
        from coder.core.phases import Policy
        from coder.core.ports import Limits
        from coder.wiring.preparation import make_sandbox

        with make_sandbox(self._backend(), self._settings.config) as sandbox:
            execution = sandbox.run(
                ["sh", "-c", command],
                cwd=self._root,
                policy=Policy(writes=False, network=self._decide(command).network),
                limits=Limits(wall_seconds=COMMAND_SECONDS),
                cut=stop,
            )
        code = "stopped" if execution.exit_code is None else f"exit code {execution.exit_code}"
        end = execution.exceeded or code
        return f"{execution.output.rstrip()}\n[{end}, {execution.seconds:.1f} s]".lstrip("\n")

    def _decide(self, command: str) -> "PermissionDecision":
        from coder.session.approval import Permissions, decide_command
        from coder.settings import configured_rules
        from coder.trust import allowed_rules

        config = self._settings.config
        permissions = Permissions(
            mode=config.approve,
            is_sandboxed=self._backend() is not None,
            rules=(*configured_rules(config), *allowed_rules(self._root)),
        )
        return decide_command(permissions, command, root=self._root)


class InterfaceSettings:
    """Settings of the interface's sessions: those of the command line, and what the user changes since."""

    def __init__(self, root: Path, flags: Mapping[str, Any]) -> None:
        self._root = root
        self.flags = dict(flags)
        """Settings that replace configured ones."""

    @property
    def config(self) -> "Config":
        from coder.settings import load_config

        return load_config(self._root, self.flags)

    def models(self) -> Sequence[str]:
        return [*self.list_models(), "To take another one from now on: /model PROVIDER:NAME"]

    def list_models(self) -> Sequence[str]:
        """Return a line for each model that can be asked, the chosen one first."""
        from coder.cli.machine import model_lines

        return model_lines(self.config, self.flags.get("model"))

    def show(self, name: str) -> Sequence[str]:
        from coder.cli.options import StrategyName

        config = self.config
        if name == "budget":
            limits = {limit: getattr(config, setting) for limit, setting in LIMITS.items()}
            return [
                *(f"{limit:<9} {'no limit' if value is None else value}" for limit, value in limits.items()),
                "To set one for each request from now on: /budget tokens 200000; or none",
            ]
        return [
            f"{config.strategy or 'linear'}, of {', '.join(StrategyName)}",
            "To take another one from now on: /strategy NAME",
        ]

    def choices(self, name: str) -> Sequence[str]:
        from coder.cli.log import Grouping
        from coder.cli.options import StrategyName

        match name:
            case "model":
                return [line[2:] for line in self.list_models() if line.startswith(("* ", "  "))]
            case "strategy":
                return [*StrategyName]
            case "budget":
                return self.show("budget")[:-1]
            case "cost":
                return [*Grouping]
        return []

    def change(self, name: str, value: str) -> str:
        if name == "budget":
            limit, _, number = value.partition(" ")
            if limit not in LIMITS or not number.strip():
                raise UserError(f"Write /budget LIMIT N, with one of: {', '.join(LIMITS)}.")
            no_limit = number.strip() == "none"
            self._replace(LIMITS[limit], None if no_limit else number.strip().replace("_", ""))
            return f"Limit of each request from now on: {limit} {getattr(self.config, LIMITS[limit])}"
        self._replace(name, value.strip())
        return f"From the next request on: {name} {value.strip()}"

    def _replace(self, name: str, value: str | None) -> None:
        """Replace a setting if it is valid.

        Raises:
            UserError: it is not.
        """
        from coder.settings import load_config
        from coder.wiring.session import choose_approach

        flags = {**self.flags, name: value}
        config = load_config(self._root, flags)
        if name in ("model", "strategy"):
            choose_approach(config, model_name=flags.get("model"))
        self.flags[name] = value

    def check(self) -> Sequence[str]:
        from coder.cli.machine import doctor_lines

        return list(doctor_lines(self._root))

    @property
    def key_bindings(self) -> "KeyBindings":
        """Keys of the interface.

        Raises:
            UserError: a setting is invalid.
        """
        from coder.ui.tui.keys import KeyBindings, read_key_bindings

        if not may_be_set("keys", "vim"):
            return KeyBindings()
        config = self.config
        return read_key_bindings(config.keys, has_vim=config.vim)

    def is_on(self, name: Literal["inline", "screen_reader"]) -> bool:
        """Tell whether a setting that decides on the interface is switched on."""
        return bool(self.flags.get(name)) or is_interface_setting_on(name, self._root)

    @property
    def theme(self) -> str:
        return remembered_theme()

    def remember_theme(self, name: str) -> None:
        from coder.files.regular_files import replace_text

        replace_text(_theme_file(), json.dumps({"theme": name}))
