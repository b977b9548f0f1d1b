"""The program on a terminal: the interface's start, and a change that is shown."""

import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.builders import repo
from tests.cli.terminal import Terminal
from tests.models.fakes import Turn, serve
from tests.models.wires import chat_stream, openai_error
from tests.place import Place, call

DIFF = (
    "--- a/clock.py\n+++ b/clock.py\n@@ -1,3 +1,4 @@\n def minutes(text):\n+    # hours and minutes\n"
    '     hours, rest = text.split(":")\n-    return int(hours) * 60 - int(rest)\n'
    "+    return int(hours) * 60 + int(rest)\n"
)
PATCH = Turn(text="Minutes are added to the hours.", calls=(call("apply_patch", diff=DIFF),))


@pytest.fixture
def start(place: Place) -> Iterator[Callable[..., Terminal]]:
    """Return a function that starts the program on a terminal."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Terminal:
            terminal = Terminal(
                place.command(*arguments), directory=place.repository, environment=place.environment
            )
            stack.callback(terminal.close)
            return terminal

        yield start


@pytest.mark.loopback
def test_a_fix_is_shown_before_it_is_applied(place: Place, start: Callable[..., Terminal]) -> None:
    with serve(chat_stream, openai_error, [PATCH]) as server:
        assert place.fix(server).returncode == 0
    terminal = start("apply", "last")
    terminal.wait_for("Apply it?")
    assert "+    return int(hours) * 60 + int(rest)" in terminal.text and "turned green" in terminal.text
    terminal.press("y\r")
    assert "which holds the fix" in terminal.finish()
    assert "+ int(rest)" in (place.repository / "clock.py").read_text()


ROOT = Path(__file__).parents[2]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    root = repo(tmp_path / "clock", {"clock.py": "HOURS = 24\n"})
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "COLORTERM": "truecolor",
        "OLLAMA_HOST": "127.0.0.1:9",
    }
    terminal = Terminal([sys.executable, "-m", "coder"], directory=root, environment=environment)
    yield terminal
    terminal.close()


def test_keeps_early_keys_and_restores_the_terminal(terminal: Terminal) -> None:
    before = termios.tcgetattr(terminal.file)
    terminal.type("größer".encode())
    terminal.read_until("größer".encode())
    terminal.type(b"\x11")
    terminal.finish()
    assert b"\x1b[?1049l" in terminal.output
    assert termios.tcgetattr(terminal.file) == before
