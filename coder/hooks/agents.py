"""Hooks of other coding agents: which agent asks, its settings and state."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from coder.core.errors import UserError
from coder.core.text import parse_json
from coder.files.regular_files import replace_text

SECONDS = 1800
"""Time limit of a hook; the agents' own defaults are too short for a test suite."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A coding agent, and its hook at the end of a turn."""

    name: str
    title: str
    settings: str
    """The file that configures its hooks, relative to the repository or the user's home directory."""
    personal: str = ""
    """The user's own file in the repository; empty if the agent reads none."""
    start_event: str = "SessionStart"
    stop_event: str = "Stop"
    timeout_unit_seconds: float = 1.0
    refusal: str = "block"
    """The decision that makes it continue."""
    project_variable: str = ""
    """Environment variable with the directory that it was started in."""
    remark: str = ""
    """Remaining steps after the installation; a sentence."""

    @property
    def events(self) -> tuple[str, ...]:
        """Events that have an entry of coder's."""
        return (self.start_event, self.stop_event)

    def build_entry(self, command: str) -> dict[str, Any]:
        timeout = round(SECONDS / self.timeout_unit_seconds)
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    def describe_entries(self, command: str) -> str:
        """Return the lines that a user may paste into the settings."""
        return json.dumps({"hooks": {event: [self.build_entry(command)] for event in self.events}}, indent=2)

    def is_own_command(self, command: object) -> bool:
        """Tell whether a command in the settings is coder's."""
        return isinstance(command, str) and f"coder hook run {self.name}" in f"{command} ".replace("'", "")


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude",
            title="Claude Code",
            settings=".claude/settings.json",
            personal=".claude/settings.local.json",
            project_variable="CLAUDE_PROJECT_DIR",
        ),
        Agent(
            name="codex",
            title="Codex",
            settings=".codex/hooks.json",
            remark="Codex runs it only in a project that it trusts, and after you have reviewed it: /hooks.",
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            settings=".gemini/settings.json",
            stop_event="AfterAgent",
            timeout_unit_seconds=0.001,
            refusal="deny",
            project_variable="GEMINI_PROJECT_DIR",
        ),
        Agent(
            name="qwen",
            title="Qwen Code",
            settings=".qwen/settings.json",
            start_event="UserPromptSubmit",  # it fires no SessionStart for `qwen -p`
            timeout_unit_seconds=0.001,
        ),
    )
}


def hook_command(agent: Agent, program: str, options: Sequence[str] = ()) -> str:
    """Return the command of an entry; on a machine without this program it does nothing."""
    call = " ".join((program, "hook", "run", agent.name, *options))
    return f"if command -v {program} >/dev/null 2>&1; then {call}; fi"


def find_program(*, absolute: bool) -> str:
    """Return how a hook starts coder, as a word of a shell: by its name, or `absolute`, by its path.

    Raises:
        UserError: it is not installed in such a way that a hook could start it.
    """
    own = Path(sys.argv[0]).absolute() if Path(sys.argv[0]).name == "coder" else None
    beside = Path(sys.executable).parent / "coder"
    if absolute:
        installed = own or beside
        if not installed.is_file():
            raise UserError(f"There is no {installed}: install coder, so that a hook can start it.")
        return shlex.quote(str(installed))
    found = shutil.which("coder")
    if found is not None and (Path(found) in (own, beside) or _is_coder(found)):
        return "coder"
    problem = f"{found} is another program" if found else "there is no `coder` on PATH"
    raise UserError(
        f"A hook would not start: {problem}. Install coder as a tool of its own (pipx or uv tool), or add "
        "--absolute to have the hook start this installation."
    )


def _is_coder(program: str) -> bool:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return re.match(r"coder \d", answer.stdout) is not None


ASK_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class AgentSession:
    """One session of a coding agent: where it works, what it found there, and what it was told."""

    root: Path
    """Top of the checkout that it was started in, wherever its shell goes."""
    head: str
    """Commit that was checked out when it began."""
    start: str
    """Commit with the work tree of then, uncommitted work included; on top of `head`, or `head` itself."""
    tree: str
    is_start_known: bool = True
    """False if the hook saw the end of a turn first: what was there before is unknown."""
    judging: str = ""
    """Git tree that is being judged; left behind by a hook that was stopped."""
    judged: str = ""
    """Git tree that was judged last."""
    verdict: str = ""
    failing: tuple[str, ...] = ()
    """Tests for which it was refused; empty if it was not."""
    refusals: int = 0
    """All refusals so far."""
    rounds: int = 0
    """Refusals since the user's last turn."""
    prompt: str = ""
    """Digest of the user's prompt at the last refusal; empty for agents that do not send it."""
    answer_characters: int = 0
    answer: str = ""
    """Length and digest of the agent's answer at the last refusal, likewise."""
    message: str = ""
    """The last message to the user, which is not repeated."""
    hidden: dict[str, str] = field(default_factory=dict)
    """Work that git did not show when it began, with fingerprints."""


def state_file(directory: Path, *, agent: str, session: str) -> Path:
    return directory / "hooks" / f"{agent}-{text_digest(session)}.json"


def text_digest(text: str) -> str:
    """Return what identifies a text that is not kept."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read_session(path: Path) -> AgentSession | None:
    """Return a stored session; None if there is none that can be read."""
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
        session = AgentSession(**data)
        return replace(session, root=Path(session.root), failing=tuple(session.failing))
    except (OSError, ValueError, TypeError):
        return None


def write_session(path: Path, session: AgentSession) -> None:
    replace_text(path, json.dumps(asdict(session), default=str))


def install_entries(path: Path, agent: Agent, command: str) -> bool:
    """Write an entry for each of the agent's events, in place of earlier ones; return whether any changed.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    try:
        settings = _read_settings(path)
    except UserError as error:
        raise UserError(f"{error} Add this to it:\n{agent.describe_entries(command)}") from None
    updated = _without_entries(settings, agent)
    hooks = updated.setdefault("hooks", {})
    for event in agent.events:
        hooks.setdefault(event, []).append(agent.build_entry(command))
    return _write_settings(path, updated, before=settings)


def remove_entries(path: Path, agent: Agent) -> bool:
    """Remove the entries, and a file that says nothing without them; return whether there were any.

    Raises:
        UserError: the file cannot be understood; it is as it was.
    """
    settings = _read_settings(path)
    updated = _without_entries(settings, agent)
    if not updated and settings:
        path.unlink()
        return True
    return _write_settings(path, updated, before=settings)


def _without_entries(settings: dict[str, Any], agent: Agent) -> dict[str, Any]:
    """Return settings without coder's hooks, and without groups and events that held nothing else."""
    updated = deepcopy(settings)
    hooks = updated.get("hooks", {})
    for event, groups in [*hooks.items()]:
        for group in [group for group in groups if _own_hooks(group, agent)]:
            group["hooks"] = [hook for hook in group["hooks"] if hook not in _own_hooks(group, agent)]
            if not group["hooks"]:
                groups.remove(group)
        if groups != settings["hooks"][event] and not groups:
            del hooks[event]
    if not hooks and settings.get("hooks"):
        del updated["hooks"]
    return updated


def _own_hooks(group: object, agent: Agent) -> list[object]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [
        hook
        for hook in (hooks if isinstance(hooks, list) else ())
        if isinstance(hook, dict) and agent.is_own_command(hook.get("command"))
    ]


def _read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file; none if there is no file."""
    try:
        settings: Any = parse_json(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
    except ValueError:  # no UTF-8 included
        settings = None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise UserError(f"{path} is not plain JSON with an object of hooks, so it was not changed.")
    return dict(settings)


def _write_settings(path: Path, settings: dict[str, Any], *, before: dict[str, Any]) -> bool:
    """Write settings in the indentation and the line ends of the file; return whether they differ."""
    if settings == before:
        return False
    text = path.read_bytes().decode("utf-8") if path.exists() else "\n"
    indentation = re.search(r"\n([ \t]+)", text)
    written = json.dumps(settings, ensure_ascii=False, indent=indentation[1] if indentation else 2)
    written += "\n" if text.endswith("\n") else ""
    replace_text(path, written.replace("\n", "\r\n") if "\r\n" in text else written)
    return True
