"""The user's and a trusted repository's own hooks: commands that see an event as JSON, and may deny it.

In the form of Claude Code: https://code.claude.com/docs/en/hooks. They deny and never permit.
"""

import asyncio
import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coder.core.errors import SandboxError, UserError
from coder.core.ports import Limits, Sandbox
from coder.core.text import parse_json
from coder.core.values import Candidate
from coder.directories import config_directory
from coder.files.regular_files import read_regular
from coder.session.context import HookEvent
from coder.session.log import EventLog

FILE = "hooks.json"
REPOSITORY_FILE = f".coder/{FILE}"
SECONDS = 60.0
DENIAL = 2
ALIASES = {"run_command": "Bash", "apply_patch": "Edit", "read": "Read", "search": "Grep"}
"""Names that Claude Code has for tools like coder's: a matcher may use either."""
REASON_CHARACTERS = 2_000


@dataclass(frozen=True, kw_only=True)
class OwnHook:
    event: str
    matcher: str
    command: str
    seconds: float
    is_users: bool
    """Whether it runs as the user; those of a repository run in the sandbox."""


@dataclass(frozen=True, kw_only=True)
class OwnHooks:
    hooks: tuple[OwnHook, ...]
    session: str
    root: Path
    sandbox: Sandbox
    directory: Path
    """Directory that the sandbox shows, for what hooks read on standard input."""
    log: EventLog

    async def deny(self, event: HookEvent, candidate: Candidate, **fields: object) -> str:
        """Return the reason of the first hook that denies the event; empty if none does."""
        if not any(hook.event == event for hook in self.hooks):
            return ""
        warn = self.log.warning_callback()
        return await asyncio.to_thread(self._run_all, event, candidate.worktree, fields, warn)

    def _run_all(
        self, event: HookEvent, worktree: Path, fields: Mapping[str, object], warn: Callable[[str], None]
    ) -> str:
        tool = str(fields.get("tool_name", ""))
        known = {"session_id": self.session, "cwd": str(worktree), "hook_event_name": event}
        for hook in self.hooks:
            names = (tool, ALIASES.get(tool, tool))
            if hook.event == event and any(re.fullmatch(hook.matcher, name) for name in names):
                text = json.dumps({**known, **fields}, default=str)
                code, output, errors = (self._run_as_user if hook.is_users else self._run_in_sandbox)(
                    hook, text, worktree
                )
                if reason := _denial_reason(code, output, errors):
                    return reason[:REASON_CHARACTERS]
                if code:
                    warn(f"The hook {hook.command!r} failed ({code}) and denied nothing: {errors[-300:]}")
        return ""

    def _run_as_user(self, hook: OwnHook, text: str, worktree: Path) -> tuple[int, str, str]:
        argv = ["/bin/sh", "-c", f"export CLAUDE_PROJECT_DIR={shlex.quote(str(self.root))}; {hook.command}"]
        streams: dict[str, Any] = {"capture_output": True, "text": True, "errors": "replace"}
        try:
            result = subprocess.run(
                argv, input=text, cwd=worktree, timeout=hook.seconds, check=False, **streams
            )
        except subprocess.TimeoutExpired:
            return 124, "", f"it took more than {hook.seconds:g} s"
        return result.returncode, result.stdout, result.stderr.strip()

    def _run_in_sandbox(self, hook: OwnHook, text: str, worktree: Path) -> tuple[int, str, str]:
        file = self.directory / "event.json"
        file.write_text(text, encoding="utf-8")
        command = f"export CLAUDE_PROJECT_DIR={shlex.quote(str(worktree))}; {hook.command}"
        try:
            execution = self.sandbox.run(
                ["/bin/sh", "-c", f"exec < {shlex.quote(str(file))}; {command}"],
                cwd=worktree,
                limits=Limits(wall_seconds=hook.seconds),
            )
        except SandboxError as error:
            return 1, "", str(error)
        code = 124 if execution.exit_code is None else execution.exit_code
        return code, execution.output, execution.output.strip()


def _denial_reason(code: int, output: str, errors: str) -> str:
    """Return why a hook denies; empty if it does not."""
    if code == DENIAL:
        return errors or "it gives no reason"
    try:
        answer = parse_json(output) if code == 0 and output.lstrip().startswith("{") else {}
    except ValueError:
        return ""
    specific = answer.get("hookSpecificOutput")
    decision = specific if isinstance(specific, dict) else {}
    if answer.get("decision") in ("deny", "block") or decision.get("permissionDecision") == "deny":
        return str(decision.get("permissionDecisionReason") or answer.get("reason") or "it gives no reason")
    return ""


def read_hooks(root: Path, *, trusted: bool) -> tuple[OwnHook, ...]:
    """Return the user's hooks, then those of a trusted repository.

    Raises:
        UserError: a file is not in the form of hooks: one that denies must not be passed over.
    """
    files = [(config_directory() / FILE, True, Path("/"))]
    files += [(root / REPOSITORY_FILE, False, root)] if trusted else []
    return tuple(hook for file, is_users, within in files for hook in _read_file(file, within, is_users))


def _read_file(file: Path, within: Path, is_users: bool) -> Iterator[OwnHook]:
    data = read_regular(file, within=within)
    if data is None:
        return
    try:
        events: Any = parse_json(data)["hooks"]
        for event, groups in events.items():
            for group in groups:
                matcher = group.get("matcher") or ".*"
                for entry in group["hooks"]:
                    yield OwnHook(
                        event=event,
                        matcher=re.compile(".*" if matcher == "*" else matcher).pattern,
                        command=str(entry["command"]),
                        seconds=float(entry.get("timeout", SECONDS)),
                        is_users=is_users,
                    )
    except (ValueError, KeyError, TypeError, AttributeError, re.error):
        form = '{"hooks": {"EVENT": [{"matcher": "TOOL", "hooks": [{"command": "..."}]}]}}'
        raise UserError(f"{file} is not in the form of hooks, {form}: mend it, or remove it.") from None
