"""The list of sessions, and what coder stores."""

import os
import shutil
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.core.events import Task
from coder.repo.git import session_lock
from tests.builders import write
from tests.stored_sessions import store_session

LOGS = Path(__file__).parent.parent / "logs"


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sessions = tmp_path / "state" / "coder" / "sessions"
    for day, name in ((1, "plan"), (2, "gives-up"), (3, "offline")):
        shutil.copytree(LOGS / f"format-1-{name}", sessions / f"2026010{day}-{name}")
    return sessions


def test_lists_sessions_beside_one_of_an_unknown_format(
    sessions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sessions / "20260102-gives-up" / "events.jsonl").write_text('{"format": 99}\n')
    assert run_command_line(["log", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["session", "20260103-offline", "20260101-plan", "1"]
    assert "20260102-gives-up/events.jsonl was not written in format 3" in lines[-1]


def test_a_session_that_is_open_is_running(
    sessions: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = (sessions / "20260102-gives-up").glob("events*")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))

    def listed() -> str:
        assert run_command_line(["log", "--all"]) == 0
        return next(line for line in capsys.readouterr().out.splitlines() if "gives-up" in line)

    assert "  cut off  " in listed()
    with session_lock(sessions / "20260102-gives-up"):
        assert "  running  " in listed()
    assert "  cut off  " in listed()


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
