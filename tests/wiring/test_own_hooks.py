"""Hooks of the user and of a trusted repository in whole sessions."""

import asyncio
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from coder.core.errors import UserError
from coder.core.events import SessionFinished, Verified, Warned
from coder.core.messages import ToolMessage
from coder.core.task import Task
from coder.core.verdict import VerdictKind
from coder.models.scripted import ScriptedCall, ScriptedModel, ScriptStep
from coder.settings import Config
from coder.strategies.follow import LINEAR_ROUTE, follow_route
from coder.wiring.guidance import read_hooks
from coder.wiring.session import Approach, SessionHandle, SessionSetup
from tests.builders import repo, write
from tests.place import FILES, FIX, ISSUE, QUICK
from tests.walls import walls

LOOK = ScriptStep(calls=(ScriptedCall(name="read", arguments={"path": "clock.py"}),))
COMMAND = ScriptStep(calls=(ScriptedCall(name="run_command", arguments={"command": "ls"}),))
PATCH = ScriptStep(text="Add minutes.", calls=(ScriptedCall(name="apply_patch", arguments={"diff": FIX}),))
GIVE_UP = ScriptStep(
    calls=(ScriptedCall(name="hand_over", arguments={"kind": "give_up", "summary": "Enough."}),)
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    return repo(tmp_path / "repository", {**FILES, **QUICK})


def hooks_file(**events: Any) -> str:
    """Return a file of hooks: a command, or a matcher and a command, for each event."""
    groups = {
        event: [
            {"matcher": given[0], "hooks": [{"type": "command", "command": given[1]}]}
            if isinstance(given, tuple)
            else {"hooks": [{"type": "command", "command": given}]}
        ]
        for event, given in events.items()
    }
    return json.dumps({"hooks": groups})


def open_session(root: Path, model: ScriptedModel, *, trusted: bool = True) -> SessionHandle:
    """Run a session to its end."""
    approach = Approach(model=model, strategy=follow_route(LINEAR_ROUTE), reason="")
    config = Config(behavior_seconds=0)
    setup = SessionSetup(root=root, config=config, backend=walls(), trusted=trusted, approach=approach)
    task = Task(issue=ISSUE, directory=root, trusted=trusted, test_command="python -m unittest")
    with setup.open(task) as handle:
        asyncio.run(handle.session.run())
    return handle


def run_session(
    root: Path, steps: list[ScriptStep], *, trusted: bool = True
) -> tuple[SessionFinished, list[ToolMessage], list[str]]:
    """Return the end of a session, the results that its model got, and the warnings."""
    model = ScriptedModel(steps)
    handle = open_session(root, model, trusted=trusted)
    results = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    warnings = [record.event.text for record in handle.log.records if isinstance(record.event, Warned)]
    return handle.finish_event, results, warnings


def test_users_hooks_see_events_and_deny_them(root: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    record = f"cat >> {seen}; echo >> {seen}"
    write(
        tmp_path / "config/coder",
        {
            "hooks.json": hooks_file(
                PreToolUse=("Bash|Read", f"{record}; echo 'only after lunch' >&2; exit 2"),
                PostToolUse=("apply_patch", f"{record}; exit 7"),
                Stop=f"{record}; echo 'frozen until Monday' >&2; exit 2",
            )
        },
    )
    finished, results, warnings = run_session(root, [LOOK, COMMAND, PATCH])
    events = [json.loads(line) for line in seen.read_text().splitlines() if line]
    assert [event["hook_event_name"] for event in events][:3] == ["PreToolUse", "PreToolUse", "PostToolUse"]
    assert events[0]["tool_name"] == "read" and events[0]["tool_input"]["path"] == "clock.py"
    assert events[1]["tool_input"]["command"] == "ls" and events[2]["tool_response"]
    assert {event["session_id"] for event in events} == {events[0]["session_id"]}
    assert "read was refused by a hook, and nothing was done: only after lunch" in results[0].text
    assert "run_command was refused by a hook" in results[1].text
    assert [text for text in warnings if "failed (7) and denied nothing" in text]
    assert finished.summary == "Not delivered: a hook denies it: frozen until Monday."
    assert finished.delivery is None or not finished.delivery.branch


def test_stop_hook_runs_only_before_a_delivery(root: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    write(tmp_path / "config/coder", {"hooks.json": hooks_file(Stop=f"echo >> {seen}")})
    run_session(root, [GIVE_UP])
    assert not seen.exists()
    run_session(root, [PATCH])
    assert seen.read_text() == "\n"


def test_hook_lowers_a_verdict_and_the_model_is_told(root: Path, tmp_path: Path) -> None:
    answer = '{"decision": "block", "reason": "no ticket"}'
    write(tmp_path / "config/coder", {"hooks.json": hooks_file(Verified=f"echo {shlex.quote(answer)}")})
    model = ScriptedModel([PATCH, GIVE_UP])
    handle = open_session(root, model)
    verdicts = [record.event.verdict for record in handle.log.records if isinstance(record.event, Verified)]
    assert verdicts[-2].kind is VerdictKind.PROVEN and verdicts[-1].kind is VerdictKind.PASSING
    assert verdicts[-1].reason == "A hook denies the verdict: no ticket."
    assert "denies the verdict: no ticket" in model.requests[-1].messages[-1].text
    assert handle.finish_event.delivery is None


def test_verified_hook_output_must_be_the_answer_alone(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "config/coder", {"hooks.json": hooks_file(Stop="echo '{not json'", Verified="cat")})
    finished, _, warnings = run_session(root, [PATCH])
    assert finished.delivery is not None and finished.delivery.branch
    assert not [text for text in warnings if "hook" in text]


def test_hooks_of_a_repository_run_where_it_is_trusted_and_in_the_sandbox(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    deny = f"grep -q run_command && touch {outside} ran; echo 'not here'; exit 2"
    write(root, {".coder/hooks.json": hooks_file(PreToolUse=("run_command", deny))})
    _, results, _ = run_session(root, [COMMAND, GIVE_UP], trusted=False)
    assert results[0].ok and not outside.exists()
    _, results, _ = run_session(root, [COMMAND, GIVE_UP], trusted=True)
    assert "run_command was refused by a hook" in results[0].text and "not here" in results[0].text
    if walls() is not None:
        assert not outside.exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hooks": {"Stop": [{"hooks": [{}]}]}}', hooks_file(Stop=("(", "x"))]
)
def test_malformed_hooks_are_refused(root: Path, tmp_path: Path, text: str) -> None:
    write(tmp_path / "config/coder", {"hooks.json": text})
    with pytest.raises(UserError, match=r"hooks.json is not in the form of hooks"):
        read_hooks(root, trusted=False)
