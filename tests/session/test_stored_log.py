import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coder.core.errors import UserError
from coder.core.events import Record, SessionStarted, Task, Verified, Warned
from coder.core.verdict import VerdictKind
from coder.files.regular_files import sessions_directory
from coder.session.log import SessionStore, boundary_events, find_session, list_sessions, read_records

LOGS = Path(__file__).parent.parent / "logs"


def record(number: int) -> Record:
    return Record(
        number=number, at=datetime(2026, 1, 1, tzinfo=UTC), event=Warned(text=f"warning {number} — ünïcode")
    )


STARTED = SessionStarted(
    session="s",
    task=Task(issue="it fails", directory=Path()),
    repository="/r",
    head="a",
    base="a",
    dirty=False,
    model="m",
    version="1",
)


def store_records(directory: Path, count: int) -> Path:
    store = SessionStore(directory)
    for number in range(1, count + 1):
        store.append(record(number))
    store.close()
    return directory / "events.jsonl"


def test_records_are_readable_immediately(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.append(record(1))
    assert read_records(tmp_path) == [record(1)]
    store.close()


def test_drops_torn_last_line(tmp_path: Path) -> None:
    path = store_records(tmp_path, 2)
    path.write_bytes(path.read_bytes()[:-9])
    assert read_records(tmp_path) == [record(1)]


def test_reports_broken_line_before_last(tmp_path: Path) -> None:
    path = store_records(tmp_path, 2)
    path.write_text(path.read_text().replace("warned", "warmed", 1))
    with pytest.raises(UserError, match="Line 2"):
        read_records(tmp_path)


def test_refuses_unknown_format(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"format": 99}\n')
    with pytest.raises(UserError, match="format 3"):
        read_records(tmp_path)


@pytest.mark.parametrize("log_format", [1, 2])
def test_reads_words_of_earlier_formats(tmp_path: Path, log_format: int) -> None:
    red = {"id": "t.py::test_a", "outcome": "failed"}
    verdicts = [
        {"kind": "INCONCLUSIVE", "reason": "It cannot run."},
        {"kind": "PASSING", "reason": "It is red.", "still_red": [red]},
        {"kind": "PASSING", "reason": "Nothing shows it."},
    ]
    events = [
        {"type": "verified", "candidate": "c1", "attempt": 1, "verdict": verdict} for verdict in verdicts
    ]
    records = [
        {"number": number, "at": "2026-01-01T00:00:00Z", "event": event}
        for number, event in enumerate(events, 1)
    ]
    lines = map(json.dumps, [{"format": log_format}, *records])
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    kinds = [
        record.event.verdict.kind for record in read_records(tmp_path) if isinstance(record.event, Verified)
    ]
    assert kinds == [VerdictKind.NOT_TESTED, VerdictKind.NOT_FIXED, VerdictKind.PASSING]


def test_sessions_are_found_by_either_end_of_their_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("20260101-a1", "20260102-b2"):
        store = SessionStore(sessions_directory() / name)
        store.append(record(1).model_copy(update={"event": STARTED}))
        store.close()
    assert [directory.name for directory in list_sessions()] == ["20260101-a1", "20260102-b2"]
    assert find_session("a1").name == "20260101-a1"
    assert find_session("last").name == "20260102-b2"
    newest = sessions_directory() / "20260103-c3"
    newest.mkdir()
    (newest / "events.jsonl").write_text('{"format": 99}\n', encoding="utf-8")
    assert find_session("last").name == "20260102-b2"
    with pytest.raises(UserError, match="name a session"):  # of another fix than the one that is meant
        find_session("last", delivered=lambda _: True)
    shutil.rmtree(newest)
    with pytest.raises(UserError, match="2 sessions"):
        find_session("2026")
    with pytest.raises(UserError, match="No session"):
        find_session("c3")
    with pytest.raises(UserError, match="Did you mean 20260102-b2"):
        find_session("0260102-b3")


def test_sessions_of_one_second_are_ordered_by_their_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for number, name in enumerate(("20260101-120000-f0", "20260101-120000-a1"), start=1):
        at = datetime(2026, 1, 1, 12, microsecond=number, tzinfo=UTC)
        store = SessionStore(sessions_directory() / name)
        store.append(record(1).model_copy(update={"event": STARTED, "at": at}))
        store.close()
    assert find_session("last").name == "20260101-120000-a1"


def test_has_recorded_session_of_each_strategy() -> None:
    names = {log.name.removeprefix("format-1-") for log in LOGS.glob("format-*")}
    assert {"auto", "committee", "offline", "plan", "tree", "wrong-then-repaired"} <= names


@pytest.mark.parametrize("log", sorted(LOGS.glob("format-*")), ids=lambda path: path.name)
def test_reads_every_recorded_session(log: Path) -> None:
    started, session_end = boundary_events(log)
    assert started is not None
    assert session_end is not None
    assert session_end.kind is not None or session_end.exit_code == 0


def test_line_separator_in_text_keeps_record_whole(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    odd = record(1).model_copy(update={"event": Warned(text="a\u2028b\x85c")})
    store.append(odd)
    store.close()
    assert read_records(tmp_path) == [odd]
