"""Planted secrets (tests/canaries.json) never appear in what a session sends or stores.

To add a case, add an object (place, line, value) to that file. Places: the issue, the source file that is
fixed, other files by name, git remotes, the environment, and the output of the failing test.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from coder.core.events import SessionFinished, Task
from coder.core.values import Request
from coder.core.verdict import VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.permissions.secrets import PLACEHOLDER
from coder.repo.history import delivered_diff
from coder.settings import Config
from coder.strategies.registry import build_strategy
from coder.wiring.session import Approach, SessionSetup
from tests.builders import git, repo
from tests.walls import walls

CANARIES: list[dict[str, str]] = json.loads(
    (Path(__file__).parent / "canaries.json").read_text(encoding="utf-8")
)
FAULT, FIX = "def twice(x):\n    return x + 3\n", "    return x + x"
TEST = """from shop import twice


def test_twice():
    print({output!r})
    assert twice(5) == 10
"""


def canary_lines(place: str) -> list[str]:
    return [canary["line"].format(canary["value"]) for canary in CANARIES if canary["place"] == place]


def plant_canaries(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "\n".join(canary_lines("source"))
    files = {
        "shop.py": f"{source}\n{FAULT}",
        "test_shop.py": TEST.format(output="\n".join(canary_lines("output"))),
        "settings.ini": "[main]\n" + "\n".join(canary_lines("settings.ini")) + "\n",
        ".gitignore": ".venv/\n__pycache__/\n",
    }
    repo(root, files)
    (root / ".env").write_text("\n".join(canary_lines(".env")) + "\n", encoding="utf-8")
    for number, url in enumerate(canary_lines("remote")):
        git(root, "remote", "add", f"r{number}", url)
    for line in canary_lines("environment"):
        monkeypatch.setenv(*line.split("=", 1))


def script() -> list[Any]:
    """Return a script that looks everywhere, then fixes the function in a patch whose context is a masked
    line as it was shown.
    """

    def fix(request: Request) -> Any:
        text = "\n".join(message.text for message in request.messages)
        line_shown = next(
            line.partition("| ")[2]
            for line in text.splitlines()
            if "password = " in line and "|" in line and PLACEHOLDER.search(line)
        )
        renamed = line_shown.replace("password", "db_password")
        diff = (
            f"--- a/shop.py\n+++ b/shop.py\n@@\n-{line_shown}\n+{renamed}\n@@\n def twice(x):\n"
            f"-    return x + 3\n+{FIX}\n"
        )
        return ScriptStep(
            text="Add x to itself.", calls=(ScriptedCall(name="apply_patch", arguments={"diff": diff}),)
        ).reply(99)

    looks: tuple[tuple[str, dict[str, Any]], ...] = (
        ("read", {"path": "shop.py"}),
        ("search", {"pattern": "password|secret|key|token", "ignore_case": True}),
        ("read", {"path": "settings.ini"}),
        ("read", {"path": ".env"}),
        ("run_command", {"command": "git remote -v; env; cat .env settings.ini shop.py; git log -p"}),
        ("run_tests", {}),
        ("search", {"pattern": "twice"}),
    )
    calls = tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in looks)
    return [ScriptStep(text="I look.", calls=calls), fix]


def collect(root: Path, state: Path, requests: list[Request]) -> dict[str, bytes]:
    """Return everything that left the process or stays on disk, by name."""
    result = {
        str(path): path.read_bytes()
        for path in state.rglob("*")
        if path.is_file() and "worktrees" not in path.parts
    }
    result["requests"] = "\n".join(request.model_dump_json() for request in requests).encode()
    result["messages"] = git(root, "log", "--all", "--format=%B%d").encode()
    result["notes"] = git(root, "log", "--branches", "--notes=coder", "--format=%N").encode()
    return result


async def test_no_planted_secret_is_sent_or_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "repository"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    plant_canaries(root, monkeypatch)
    issue = "twice(5) gives 8 in shop.py, test_shop.py::test_twice\n" + "\n".join(canary_lines("issue"))
    model = ScriptedModel(script())
    approach = Approach(model=model, strategy=build_strategy("linear", width=1, rounds=1), reason="")
    task = Task(issue=issue, directory=root, trusted=True)
    setup = SessionSetup(
        root=root,
        config=Config(behavior_seconds=0.0),
        backend=walls(),
        trusted=task.trusted,
        approach=approach,
    )
    with setup.open(task) as handle:
        session_end: SessionFinished = await handle.run()
    assert session_end.kind is VerdictKind.PROVEN, session_end.summary
    assert session_end.delivery and FIX in git(root, "show", f"{session_end.delivery.branch}:shop.py")
    assert 'db_password = "hunter2-otter"' in git(root, "show", f"{session_end.delivery.branch}:shop.py")
    assert '+db_password = "hunter2-otter"' in delivered_diff(root, session_end.delivery)
    everything = collect(root, tmp_path / "state", model.requests)
    assert len(CANARIES) >= 30
    assert any(name.endswith("events.jsonl") for name in everything) and any(
        name.endswith(".sqlite") for name in everything
    )
    matches = [
        (canary["value"], name)
        for canary in CANARIES
        for name, data in everything.items()
        if canary["value"].encode() in data or canary["value"].lower().encode() in data
    ]
    assert matches == []
