"""Ends of the program: signals, and a process that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders import git, write
from tests.place import FILES, Place
from tests.portable import adopts_orphans

GENEROUS_SECONDS = 20.0
DEAF = (
    "import os, signal, subprocess, sys, time\n"
    "from unittest import TestCase\n\nimport clock\n\n\n"
    "class DeafTest(TestCase):\n"
    "    def test_waits(self):\n"
    "        assert clock.minutes('00:00') == 0\n"
    "        for number in (signal.SIGINT, signal.SIGTERM):\n"
    "            signal.signal(number, signal.SIG_IGN)\n"
    "        for is_daemon in (False, True):\n"
    "            command = [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}]\n"
    "            subprocess.Popen(command, start_new_session=is_daemon)\n"
    "        time.sleep(600)\n"
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A repository with an uncommitted fix, and a test that waits with children that ignore signals."""
    place = Place(tmp_path)
    write(place.repository, {"test_deaf.py": DEAF.format(mark=str(tmp_path))})
    git(place.repository, "add", "-A")
    git(place.repository, "commit", "-qm", "deaf")
    write(place.repository, {"clock.py": FILES["clock.py"].replace("- int", "+ int")})
    return place


def marked_processes(mark: str) -> list[str]:
    """Return the command lines that name the mark."""
    listing = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True
    ).stdout
    return [line for line in listing.splitlines() if mark in line and ".removed-" not in line]


def wait_for(place: Place, *, is_running: bool) -> None:
    """Wait until processes of the test run, or none does."""
    deadline = time.monotonic() + 60
    mark = str(place.repository.parent)
    while any("time.sleep(600)" in line for line in marked_processes(mark)) != is_running:
        assert time.monotonic() < deadline, marked_processes(mark)
        time.sleep(0.05)


def interrupt(running: "subprocess.Popen[str]", number: signal.Signals) -> float:
    """Interrupt a process and return the seconds until it has ended."""
    began = time.monotonic()
    running.send_signal(number)
    running.communicate(timeout=60)
    return time.monotonic() - began


@pytest.mark.skipif(not adopts_orphans(), reason="daemons are found on Linux only")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_ends_with_all_processes_and_leaves_nothing(place: Place, number: signal.Signals) -> None:
    before = place.user_state()
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell does for background jobs of a script
    try:
        running = place.start("verify", "--trust")
    finally:
        signal.signal(signal.SIGINT, ignored)
    wait_for(place, is_running=True)
    assert interrupt(running, number) < GENEROUS_SECONDS
    assert running.returncode == 130
    wait_for(place, is_running=False)
    assert place.traces() == ("", "")
    assert place.user_state() == before
    assert not list(Path(place.environment["XDG_STATE_HOME"]).glob("coder/sessions/*/worktrees"))


STUCK = """
import os, sys, threading, time
from pathlib import Path
from coder.cli.running import end_on_signals
from coder.repo.git import session_lock
from coder.repo.repository import open_repository

root, state = Path(sys.argv[1]), Path(sys.argv[2])
threading.Thread(target=time.sleep, args=(600,)).start()
with session_lock(state), end_on_signals(lambda: None, seconds=0.1):
    repository = open_repository(root, session=state.name, state=state, base=None)
    candidate = repository.create_candidate("c1")
    repository.checkpoint(candidate, "step")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_stuck_process_is_ended_by_force(place: Place) -> None:
    environment = {**place.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    state = Path(place.environment["XDG_STATE_HOME"]) / "coder" / "sessions" / "s1"
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, str(place.repository), str(state)],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert interrupt(process, signal.SIGTERM) < GENEROUS_SECONDS
    assert process.returncode == 130
    place.coder("log")
    place.coder("verify", "HEAD", "--test", "true")  # recovers where that took too long
    assert place.traces() == ("", "")
    assert not (state / "worktrees").exists()


SCRIPT = """
import os, signal, sys
from coder.cli import running
running.RECOVERY = f"open({sys.argv[1]!r}, 'w')"
with running.clean_up_if_killed():
    os.kill(0 if sys.argv[2] == "group" else os.getpid(), signal.SIGKILL if sys.argv[2] else 0)
"""


@pytest.mark.parametrize(("killed", "is_cleaned_up"), [("group", True), ("process", True), ("", False)])
def test_cleans_up_after_a_killed_process(tmp_path: Path, killed: str, is_cleaned_up: bool) -> None:
    mark = tmp_path / "cleaned up"
    subprocess.run([sys.executable, "-c", SCRIPT, str(mark), killed], start_new_session=True, check=False)
    deadline = time.monotonic() + 20 * is_cleaned_up
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert mark.exists() == is_cleaned_up
