"""Start of the interface as a process of its own, in a pseudo-terminal."""

import os
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import repo
from tests.cli.terminal import Terminal

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
