"""Reading the plugin's lines."""

import json
from pathlib import Path

from coder.verify.running.recording import Recording


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def phase(test: str, when: str, outcome: str, *, failure: str = "", xfail: bool = False) -> bytes:
    described = (
        {"type": failure, "message": "", "frames": [["a.py", 1, "f"]], "text": ""} if failure else None
    )
    return line(
        kind="phase", id=test, when=when, outcome=outcome, seconds=0.5, xfail=xfail, failure=described
    )


def read(tmp_path: Path, *parts: bytes) -> Recording:
    file = tmp_path / "report"
    file.write_bytes(b"".join(parts))
    recording = Recording(file)
    recording.read()
    return recording


def test_merges_phases_and_reports_first_failure(tmp_path: Path) -> None:
    recording = read(
        tmp_path,
        phase("a", "setup", "passed"),
        phase("a", "call", "passed"),
        phase("a", "call", "failed", failure="First"),
        phase("a", "call", "failed", failure="Second"),
        phase("a", "teardown", "passed"),
    )
    (result,) = recording.results
    assert (result.outcome, result.when, result.seconds, result.failure and result.failure.type) == (
        "failed",
        "call",
        1.5,
        "First",
    )


def test_rerun_test_has_no_result_yet(tmp_path: Path) -> None:
    assert read(tmp_path, phase("a", "call", "rerun", failure="X")).results == ()


def test_reads_torn_last_line_once_complete(tmp_path: Path) -> None:
    whole = phase("a", "call", "passed")
    recording = read(tmp_path, whole, whole.replace(b'"a"', b'"b"')[:10])
    assert [result.id for result in recording.results] == ["a"]
    with (tmp_path / "report").open("ab") as file:
        file.write(whole.replace(b'"a"', b'"b"')[10:])
    recording.read()
    assert [result.id for result in recording.results] == ["a", "b"]


def test_reports_running_test_and_progress(tmp_path: Path) -> None:
    begun = (line(kind="session"), line(kind="collected", count=2), line(kind="start", id="a"))
    recording = read(
        tmp_path,
        *begun,
        phase("a", "call", "failed", failure="X"),
        phase("a", "teardown", "passed"),
        line(kind="start", id="b"),
    )
    assert (recording.began, recording.finished, recording.running, recording.progress) == (
        True,
        False,
        ("b",),
        "1 of 2 tests, 1 red",
    )


def test_session_ending_before_all_tests_ended_early(tmp_path: Path) -> None:
    end = line(kind="finish", exit=2, loaded={}, stopped=False)
    begun = (line(kind="session"), line(kind="collected", count=2), line(kind="start", id="a"))
    assert read(tmp_path, *begun, end).ended_early
    assert not read(tmp_path, *begun, line(kind="start", id="b"), end).ended_early


def test_missing_file_means_no_session(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "none")
    recording.read()
    assert (recording.began, recording.results) == (False, ())
