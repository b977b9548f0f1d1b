"""SIGUSR1 has a change judged by the tests that have run so far."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from coder.session.session import NOTHING_TO_CUT_SHORT
from tests.builders import git, write
from tests.place import Place

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
