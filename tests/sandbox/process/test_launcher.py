"""Process table of the launcher: from /proc, and from ps where there is none (macOS)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from coder.sandbox import launcher

GRANDCHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"


@pytest.fixture(params=["proc", "ps"])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Select the source of the process table."""
    if request.param == "ps" and not os.access(launcher.PS, os.X_OK):
        pytest.skip(f"there is no {launcher.PS}")
    if request.param == "proc" and not launcher.has_proc():
        pytest.skip("this system has no /proc")
    monkeypatch.setattr(launcher, "has_proc", lambda: request.param == "proc")
    return str(request.param)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that has a child of its own."""
    with subprocess.Popen([sys.executable, "-c", GRANDCHILD], start_new_session=True) as process:
        yield process
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("table")
def test_finds_descendants_and_their_memory(child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while not (below := launcher.descendants(child.pid, launcher.parents())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(below) == 1
    assert child.pid in launcher.descendants(os.getpid(), launcher.parents())
    assert launcher.private_bytes([child.pid, *below]) > 1 << 20
    assert launcher.private_bytes([]) == 0


@pytest.mark.usefixtures("table")
def test_monitor_names_exceeded_limit(child: subprocess.Popen[bytes]) -> None:
    limits = {"processes": 1000, "resident_bytes": 1 << 40, "disk_bytes": 1 << 60, "directories": []}
    monitor = launcher.LimitMonitor(limits)
    assert monitor.find_exceeded_limit(os.getpid()) == ""
    launcher_limit = launcher.LimitMonitor({**limits, "processes": 0})
    assert child.poll() is None
    assert launcher_limit.find_exceeded_limit(os.getpid()) == "more than 0 processes"
