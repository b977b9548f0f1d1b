"""A command that is killed: a process of its own cleans up."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

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
