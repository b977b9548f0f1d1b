"""Coding agents and the hooks that they document."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from coder.core.values.base import Value

SECONDS = 1800
"""Time limit of a hook; the agents' own defaults are too short for a test suite."""


class Agent(Value):
    """A coding agent, and its hook at the end of a turn."""

    name: str
    settings: str
    """The file that configures its hooks, relative to the repository or the user's home directory."""
    start_event: str = "SessionStart"
    stop_event: str = "Stop"
    timeout_unit_seconds: float = 1.0
    refusal: str = "block"
    """The decision that makes it continue."""
    remark: str = ""
    """Remaining steps after the installation; a sentence."""

    @property
    def events(self) -> tuple[str, ...]:
        """Events that have an entry of coder's."""
        return (self.start_event, self.stop_event)

    def build_entry(self, command: str) -> dict[str, Any]:
        """Return the entry of one event in the settings."""
        timeout = round(SECONDS / self.timeout_unit_seconds)
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}

    def is_own_command(self, command: object) -> bool:
        """Tell whether a command in the settings is coder's."""
        return isinstance(command, str) and f"coder hook run {self.name}" in f"{command} ".replace("'", "")


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(name="claude", settings=".claude/settings.json"),
        Agent(
            name="codex",
            settings=".codex/hooks.json",
            remark="Codex runs a new hook only after you have reviewed it: /hooks.",
        ),
        Agent(
            name="gemini",
            settings=".gemini/settings.json",
            stop_event="AfterAgent",
            timeout_unit_seconds=0.001,
            refusal="deny",
        ),
    )
}


def own_program() -> str:
    """Return how a hook starts coder: by its name where the shell finds it, else by its path."""
    own = Path(sys.argv[0])
    found = shutil.which("coder")
    if own.name != "coder" or (found is not None and Path(found).resolve() == own.resolve()):
        return "coder"
    return shlex.quote(str(own.resolve()))
