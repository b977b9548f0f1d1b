"""Changes that are judged: by verify, review, and before all tests have run."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from coder.session.session import NOTHING_TO_CUT_SHORT
from tests.builders import git, write
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import FIX, ISSUE, Place, call


def test_names_unresolved_conflicts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    git(place.repository, "checkout", "-q", "-b", "other")
    for branch, text in (("other", "A = 1\n"), ("main", "A = 2\n")):
        git(place.repository, "checkout", "-q", branch)
        write(place.repository, {"clock.py": text})
        git(place.repository, "commit", "-qam", "change")
    with pytest.raises(AssertionError, match="git merge"):
        git(place.repository, "merge", "-q", "--no-commit", "other")
    before = place.user_state()
    result = place.coder("verify", "--trust")
    assert (result.returncode, result.stdout) == (2, "")
    assert (
        "coder: Merge conflicts are not resolved in clock.py: resolve them, or name a commit" in result.stderr
    )
    fixed = place.coder("fix", "it is wrong", "--offline", "--trust")
    assert "Merge conflicts are not resolved in clock.py: tests that use them fail." in fixed.stdout
    assert place.user_state() == before


def test_removed_format_is_answered_in_one_line(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write(place.repository, {"README.md": "Prose.\n"})
    result = place.coder("verify", "--trust", "--format", "json")
    assert (result.returncode, result.stdout.split()[0]) == (3, "PASSING")
    assert "--format no longer exists: coder log evidence" in result.stderr


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


SLOW = (
    "import time\n\nfrom clock import minutes\n\n\n"
    "def test_slow():\n    time.sleep(100)\n    assert minutes('00:00') == 0\n"
)


def test_signal_ends_large_run_with_what_ran(tmp_path: Path) -> None:
    place = Place(tmp_path, runner="pytest")
    write(place.repository, {"test_slow.py": SLOW})
    git(place.repository, "add", "--all")
    git(place.repository, "commit", "-qm", "slow test")
    code = (place.repository / "clock.py").read_text()
    write(place.repository, {"clock.py": code.replace("- int(rest)", "+ int(rest)")})
    issue = "test_clock.py::ClockTest::test_half_past_nine fails."
    command = place.command("verify", "--issue", issue, "--trust", "--json")
    environment = {**place.environment, "CI": "1"}
    warnings, verified = 0, dict[str, Any]()
    with subprocess.Popen(
        command, cwd=place.repository, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout or ():
            event = json.loads(line)
            is_refusal = event["event"] == "warning" and event["text"] == NOTHING_TO_CUT_SHORT
            warnings += is_refusal
            if event["event"] == "verified":
                verified = event
            elif event["event"] == "started" or is_refusal:
                time.sleep(0.3)
                process.send_signal(signal.SIGUSR1)
    assert process.returncode == 0
    assert warnings >= 1  # while the targets ran
    assert verified["verdict"] == "FIXED"
    assert "The user asked to deliver now" in verified["reason"]
