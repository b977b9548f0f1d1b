"""Start of the interface as a process of its own, in a pseudo-terminal that the test answers for."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders import repo

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 60.0
WHITE = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c"
LIGHT_SURFACE = b"48;2;224;224;224"
"""Background of Textual's light theme, as it is sent to the terminal."""


@dataclass
class Terminal:
    """A terminal and the program in it."""

    file: int
    process: "subprocess.Popen[bytes]"
    output: bytes = b""

    def type(self, text: bytes) -> None:
        os.write(self.file, text)

    def read_until(self, expected: bytes) -> None:
        deadline = time.monotonic() + MOST_SECONDS
        while expected not in self.output:
            if time.monotonic() > deadline:
                raise AssertionError(self.output[-2000:])
            if select.select([self.file], [], [], 0.1)[0]:
                self.output += os.read(self.file, 65_536)

    def wait(self) -> int:
        """Return the exit code, reading on so that the program does not block."""
        deadline = time.monotonic() + MOST_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.file], [], [], 0.1)[0]:
                self.output += os.read(self.file, 65_536)
        return self.process.wait(timeout=1)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    root = repo(tmp_path / "clock", {"clock.py": "HOURS = 24\n"})
    file, inside = pty.openpty()
    attributes = termios.tcgetattr(inside)
    attributes[3] &= ~termios.ECHO  # what is typed is only seen where the program shows it
    termios.tcsetattr(inside, termios.TCSANOW, attributes)
    fcntl.ioctl(file, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "OLLAMA_HOST": "127.0.0.1:9",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "coder"],
        cwd=root,
        env=environment,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    yield Terminal(file, process)
    process.kill()
    process.wait()
    os.close(inside)  # not before: reading from a terminal that nobody has open is an error
    os.close(file)


def test_keeps_early_keys_follows_the_background_and_restores_the_terminal(terminal: Terminal) -> None:
    before = termios.tcgetattr(terminal.file)
    terminal.type("größer".encode())
    terminal.read_until(b"\x1b]11;?")
    terminal.type(WHITE)
    terminal.read_until("größer".encode())
    assert LIGHT_SURFACE in terminal.output
    assert b"rgb:" not in terminal.output
    terminal.type(b"\x11")
    assert terminal.wait() == 0
    assert b"\x1b[?1049l" in terminal.output
    assert termios.tcgetattr(terminal.file) == before
