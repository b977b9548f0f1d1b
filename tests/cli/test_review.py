"""`coder review`: findings of the readers, and beside each what the tests have seen there."""

from pathlib import Path

import pytest

from tests.builders import git
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import FIX, ISSUE, Place, call

pytestmark = pytest.mark.loopback


def hand_over(summary: str, *, approve: bool, line: int = 0, path: str = "clock.py") -> Turn:
    finding = {"severity": "major", "path": path, "line": line, "text": "Minutes are added."}
    findings = [] if approve else [finding]
    return Turn(
        calls=(call("hand_over", kind="findings", summary=summary, approve=approve, findings=findings),)
    )


def commit_change(place: Place) -> None:
    (place.repository / "more.py").write_text("MORE = 1\n")
    git(place.repository, "add", "more.py")
    git(place.repository, "commit", "--quiet", "--message", "more")


def test_shows_findings_beside_what_tests_saw(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.repository / "fix.diff").write_text(FIX)
    turns = [hand_over("Right.", approve=True), hand_over("Wrong.", approve=False, line=3)]
    with serve(chat_stream, openai_error, turns) as server:
        result = place.coder(
            *("review", "fix.diff", "--against", "HEAD", "--issue", ISSUE, "--trust"),
            *("--base-url", f"{server.url}/v1", "--model", "fake"),
        )
    assert result.returncode == 0, result.stdout + result.stderr
    report = result.stdout.rpartition("\n\n")[2]
    assert "approves: Right." in report
    assert "requests changes: Wrong.\n  major  clock.py:3  Minutes are added.\n    tests: none" in report
    assert git(place.repository, "status", "--porcelain") == "?? fix.diff"
    assert "PROVEN" in result.stdout


def test_says_in_one_line_that_it_needs_a_model(tmp_path: Path) -> None:
    place = Place(tmp_path)
    commit_change(place)
    result = place.coder("review", "HEAD")
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "A review needs a model: no key is set" in result.stderr
