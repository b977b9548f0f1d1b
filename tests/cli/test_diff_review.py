"""Reviews on a terminal: `coder log diff`, `coder apply` and `coder fix --dry-run`, driven by keys."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.builders import git
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import ISSUE, Place, call

ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(?:\x1b\\\\|\x07)|[ -/]*[0-~])", re.DOTALL)
DIFF = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,3 +1,4 @@\n def minutes(text):\n+    # hours and minutes\n"
    '     hours, rest = text.split(":")\n-    return int(hours) * 60 - int(rest)\n'
    "+    return int(hours) * 60 + int(rest)\n"
)
PATCH = Turn(text="Minutes are added to the hours.", calls=(call("apply_patch", diff=DIFF),))


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self._end, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            place.command(*arguments),
            cwd=place.repository,
            env={**place.environment, "TERM": "xterm-256color"},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self._output = b""

    @property
    def text(self) -> str:
        return ESCAPE.sub(b"", self._output).decode("utf-8", "replace")

    def wait_for(self, words: str) -> None:
        """Read until the words have been written since the last wait."""
        deadline = time.monotonic() + 90
        self._output = b""
        while words not in self.text and time.monotonic() < deadline and self._read():
            pass
        assert words in self.text, self.text

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._end, key.encode())
            time.sleep(0.3)  # one key at a time, as from a keyboard

    def press_until(self, key: str, words: str) -> None:
        """Press a key that is ignored while the screen is new, until the words appear."""
        self._output = b""
        for _ in range(40):
            os.write(self._end, key.encode())
            while select.select([self._end], [], [], 1)[0] and words not in self.text and self._read():
                pass
            if words in self.text:
                return
        raise AssertionError(self.text)

    def finish(self) -> str:
        """Return what is written until the process ends."""
        self._output = b""
        while self._read():
            pass
        assert self.process.wait(30) == 0, self.text
        os.close(self._end)
        return self.text

    def _read(self) -> bool:
        if not select.select([self._end], [], [], 60)[0]:
            return False
        try:
            data = os.read(self._end, 65536)
        except OSError:  # Linux's way of saying that the other end is closed
            return False
        self._output += data
        return bool(data)


@pytest.mark.thorough
@pytest.mark.loopback
def test_reviews_on_the_terminal(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with serve(chat_stream, openai_error, [PATCH, PATCH]) as server:
        model = ("--base-url", f"{server.url}/v1", "--model", "fake", "--trust")
        terminal = Terminal(place, "fix", ISSUE, *model, "--dry-run")
        terminal.wait_for("Dry run: 1 hunk")
        terminal.press("n", "q")
        assert "nothing was written to the repository" in terminal.finish()
        assert place.fix(server).returncode == 0

    terminal = Terminal(place, "log", "diff", "last")
    terminal.wait_for("1 hunk")
    terminal.press("q")
    terminal.finish()
    assert place.coder("log", "diff", "last").stdout.startswith("diff --git a/clock.py b/clock.py\n")

    head = git(place.repository, "rev-parse", "HEAD")
    terminal = Terminal(place, "apply", "last")
    terminal.wait_for("enter applies the whole fix")
    terminal.press("\x1b")
    assert "Nothing was applied." in terminal.finish()
    assert git(place.repository, "status", "--porcelain") == ""

    terminal = Terminal(place, "apply", "last")
    terminal.wait_for("enter applies the whole fix")
    terminal.press_until("l", "Lines of clock.py")
    terminal.press(" ", "\r")
    terminal.wait_for("applies them, uncommitted and not verified")
    terminal.press("\r")
    sentence = " ".join(terminal.finish().split())
    assert "(1 of 1 hunks) is in your files, uncommitted. It is not what was PROVEN." in sentence
    source = (place.repository / "clock.py").read_text()
    assert "# hours and minutes" not in source and "+ int(rest)" in source
    assert git(place.repository, "rev-parse", "HEAD") == head
    git(place.repository, "checkout", "--quiet", "clock.py")

    place.environment["CODER_SCREEN_READER"] = "true"
    terminal = Terminal(place, "log", "diff", "last")
    assert "diff --git a/clock.py b/clock.py" in terminal.finish()

    terminal = Terminal(place, "apply", "last", "-y")
    assert "holds the fix" in terminal.finish()
    assert "# hours and minutes" in (place.repository / "clock.py").read_text()
