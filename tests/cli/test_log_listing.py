"""`coder log` over a store of recorded sessions."""

import shutil
from pathlib import Path

import pytest

from coder.cli.app import run_command_line
from coder.repo.git import session_lock

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
