"""Parsing of the plugin's lines."""

import json
from pathlib import Path

from coder.verify.launch import Recording
from coder.verify.run import read_json_lines


def record_line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def phase_line(test: str, when: str, outcome: str, *, failure: str = "", xfail: bool = False) -> bytes:
    failure_fields = (
        {"type": failure, "message": "", "frames": [["a.py", 1, "f"]], "text": ""} if failure else None
    )
    return record_line(
        kind="phase", id=test, when=when, outcome=outcome, seconds=0.5, xfail=xfail, failure=failure_fields
    )


def read_recording(tmp_path: Path, *parts: bytes) -> Recording:
    file = tmp_path / "report"
    file.write_bytes(b"".join(parts))
    recording = Recording()
    for line in read_json_lines(file):
        recording.add(line)
    return recording


def test_merges_phases_and_reports_first_failure(tmp_path: Path) -> None:
    recording = read_recording(
        tmp_path,
        phase_line("a", "setup", "passed"),
        phase_line("a", "call", "passed"),
        phase_line("a", "call", "failed", failure="First"),
        phase_line("a", "call", "failed", failure="Second"),
        phase_line("a", "teardown", "passed"),
    )
    (result,) = recording.results
    assert (result.outcome, result.when, result.seconds, result.failure and result.failure.type) == (
        "failed",
        "call",
        1.5,
        "First",
    )


def test_leaves_torn_last_line_out(tmp_path: Path) -> None:
    whole = phase_line("a", "call", "passed")
    recording = read_recording(tmp_path, whole, whole.replace(b'"a"', b'"b"')[:10])
    assert [result.id for result in recording.results] == ["a"]


def test_reports_running_test_and_progress(tmp_path: Path) -> None:
    begun = (
        record_line(kind="session"),
        record_line(kind="collected", count=2),
        record_line(kind="start", id="a"),
    )
    recording = read_recording(
        tmp_path,
        *begun,
        phase_line("a", "call", "failed", failure="X"),
        phase_line("a", "teardown", "passed"),
        record_line(kind="start", id="b"),
    )
    assert (recording.began, recording.finished, recording.running_tests, recording.progress) == (
        True,
        False,
        ("b",),
        "1 of 2 tests, 1 red",
    )
