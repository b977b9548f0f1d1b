"""Gates of coding agents' own: settings that keep an installed hook from running."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coder.core.documents import parse_json, parse_toml
from coder.hooks.agents import Agent


def closed_gates(agent: Agent, root: Path) -> Iterator[str]:
    """Yield a line for each gate that is closed for a checkout, as far as the agent's files show."""
    home = Path.home()
    match agent.name:
        case "claude":
            for name in (home / ".claude/settings.json", root / agent.settings, root / agent.personal):
                if _read_json(name).get("disableAllHooks"):
                    yield f"{name} has disableAllHooks: no hook runs"
        case "codex":
            projects = _read_toml(home / ".codex" / "config.toml").get("projects", {})
            if projects.get(str(root), {}).get("trust_level") != "trusted":
                yield f"Codex does not trust {root}: start codex there and answer its question"
            yield "Codex runs it after a review alone: /hooks in codex shows whether it has one"
        case "gemini":
            folders = _read_json(home / ".gemini" / "trustedFolders.json")
            if folders.get(str(root)) == "DO_NOT_TRUST":
                yield f"Gemini CLI does not trust {root}: /permissions in gemini"
        case _:
            return


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
