"""The whole suite in the background, after a verdict on impacted tests."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.builders import git, write
from tests.models.fakes import FakeServer
from tests.place import PATCH, Place, fix_arguments

pytestmark = pytest.mark.loopback

UNSEEN = (
    "import importlib\nimport time\nfrom unittest import TestCase\n\n\nclass OtherTest(TestCase):\n"
    "    def test_of_a_name_that_nobody_can_read(self):\n        time.sleep({seconds})\n"
    "        module = importlib.import_module('clo' + 'ck')\n"
    "        assert getattr(module, 'min' + 'utes')('01:01') == {value}\n"
)
"""A test that the change reaches, and that no name in it tells of."""


def _place(root: Path, *, value: int, seconds: float = 0.0) -> Place:
    place = Place(root)
    write(place.repository, {"test_other.py": UNSEEN.format(value=value, seconds=seconds)})
    git(place.repository, "add", "test_other.py")
    git(place.repository, "commit", "-qm", "other test")
    return place


def fix(place: Place, server: FakeServer, *options: str) -> subprocess.CompletedProcess[str]:
    server.turns.append(PATCH)
    return place.process(*fix_arguments(server), "--suite", "background", *options)


def _wait_for_child(place: Place, *, finished: bool = True) -> tuple[str, str]:
    """Return the ids of the first session and of the one in the background, once it is there."""
    sessions = Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions"
    end = time.monotonic() + 90
    while time.monotonic() < end:
        for link in sessions.glob("*/whole_suite.json"):
            child = json.loads(link.read_text())["session"]
            log = sessions / child / "events.jsonl"
            if not finished or (log.is_file() and '"session_finished"' in log.read_text()):
                return link.parent.name, child
        time.sleep(0.2)
    raise AssertionError("the whole suite was not run")


def test_broken_change_is_reported_and_not_applied(tmp_path: Path, server: FakeServer) -> None:
    place = _place(tmp_path, value=59)
    result = fix(place, server)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the only test that reaches the change ran" in result.stdout
    assert "the whole suite now runs in the background" in result.stdout
    session, child = _wait_for_child(place)
    time.sleep(1)  # the note is written after the log's last record
    first, second = place.coder("log"), place.coder("log")
    assert f"Session {session}: The whole suite shows that the change is BROKEN" in first.stderr
    assert "test_of_a_name_that_nobody_can_read" in first.stderr
    assert child in first.stderr
    assert second.stderr == ""
    refused = place.coder("apply", session)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert "- int(rest)" in (place.repository / "clock.py").read_text()
    branch = git(place.repository, "for-each-ref", "--format=%(refname)", "refs/heads/coder")
    assert git(place.repository, "notes", "--ref=coder", "show", branch).startswith("# BROKEN")
    assert place.coder("apply", session, "--force").returncode == 0
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()


@pytest.mark.thorough
def test_killed_suite_is_reported_as_unfinished(tmp_path: Path, server: FakeServer) -> None:
    place = _place(tmp_path, value=59, seconds=60)
    assert fix(place, server).returncode == 0
    session, child = _wait_for_child(place, finished=False)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--after" in command and session.encode() in command:
            os.kill(int(process.name), signal.SIGKILL)
    shown = place.coder("log", "show", session)
    assert f"has not ended yet; it runs as session {child}, or was stopped" in shown.stdout
    assert place.coder("apply", session).returncode == 0  # recovers, too
    assert not list(
        (Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions" / child).glob("worktrees/*")
    )
    assert git(place.repository, "for-each-ref", "refs/coder") == ""


@pytest.mark.thorough
def test_next_command_stops_the_suite(tmp_path: Path, server: FakeServer) -> None:
    place = _place(tmp_path, value=59, seconds=600)
    assert fix(place, server).returncode == 0
    session, _ = _wait_for_child(place, finished=False)
    assert place.coder("log").returncode == 0  # one that runs nothing lets it go on
    assert "has not ended yet" in place.coder("log", "show", session).stdout
    place.coder("verify", "HEAD", "--suite", "impacted")
    assert _wait_for_child(place)[0] == session
    assert "The whole suite was stopped before its end." in place.coder("log", "show", session).stdout
    assert place.traces() == ("", "")
