"""Applications whose terminal disappears without a signal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from coder.ui.tui.app import CoderApp
from tests.ui.tui.fakes import FakeServices

CoderApp(FakeServices(), repository="/r").run()
"""


def test_application_leaves_when_its_terminal_is_gone() -> None:
    near, far = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[3],
        stdin=far,
        stdout=far,
        stderr=far,
        start_new_session=True,  # no controlling terminal, so no SIGHUP
    )
    os.close(far)
    try:
        output = b""
        while b"mode" not in output:  # the last line of the screen
            output += os.read(near, 1 << 16)
        os.close(near)
        running.wait(timeout=60)
    finally:
        running.kill()
        running.wait()
