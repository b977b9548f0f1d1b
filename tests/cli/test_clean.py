"""Removal of old state by `coder clean`."""

import os
import shutil
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.core.task import Task
from coder.repo.git import session_lock
from tests.builders import write
from tests.stored_sessions import store_session


@pytest.fixture
def state(tmp_path: Path) -> Path:
    state = tmp_path / "state" / "coder"
    write(state, {f"sessions/{name}/events.jsonl": "{}\n" for name in ("old", "used", "new")})
    write(state, {"index/a.sqlite": "x", "kept.toml": ""})
    for path in (*state.rglob("old/*"), *state.rglob("old"), *state.rglob("used/*"), *state.rglob("used")):
        os.utime(path, (0, 0))
    return state


def store(sessions: Path, name: str, *, continues: str = "") -> None:
    """Store the record of a session that did nothing."""
    shutil.rmtree(sessions / name)
    task = Task(issue="It fails.", directory=Path(), continues=continues)
    store_session(Path("/repository"), name, task=task)


def test_shows_and_removes_nothing_by_itself(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["clean"]) == 0
    assert " 3  sessions" in capsys.readouterr().out
    assert (state / "sessions" / "old").is_dir()


def test_removes_old_sessions_but_none_in_use(state: Path) -> None:
    with session_lock(state / "sessions" / "used"):
        for path in (state / "sessions" / "used", state / "sessions" / "used" / "lock"):
            os.utime(path, (0, 0))
        assert run_command_line(["clean", "--older-than", "30", "--yes"]) == 0
    assert {path.name for path in (state / "sessions").iterdir()} == {"used", "new"}
    assert (state / "index" / "a.sqlite").exists() and (state / "kept.toml").exists()


def test_keeps_old_sessions_that_newer_ones_continue(state: Path) -> None:
    store(state / "sessions", "new", continues="used")
    store(state / "sessions", "used")
    os.utime(state / "sessions" / "used" / "events.jsonl", (0, 0))
    os.utime(state / "sessions" / "used", (0, 0))
    assert run_command_line(["clean", "--older-than", "30", "--yes"]) == 0
    assert {path.name for path in (state / "sessions").iterdir()} == {"used", "new"}
