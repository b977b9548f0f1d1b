"""A process on a pseudo-terminal of its own, which a test types into and reads from."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(?:\x1b\\\\|\x07)|[ -/]*[0-~])", re.DOTALL)
MOST_SECONDS = 90.0


class Terminal:
    """A terminal and the program in it."""

    def __init__(self, command: Sequence[str], *, directory: Path, environment: Mapping[str, str]) -> None:
        self.file, self._inside = pty.openpty()
        attributes = termios.tcgetattr(self._inside)
        attributes[3] &= ~termios.ECHO  # what is typed is only seen where the program shows it
        termios.tcsetattr(self._inside, termios.TCSANOW, attributes)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.output = b""
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env={**environment, "TERM": "xterm-256color"},
            stdin=self._inside,
            stdout=self._inside,
            stderr=self._inside,
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        """Output since the last wait, without control sequences."""
        return ESCAPE.sub(b"", self.output).decode("utf-8", "replace")

    def type(self, text: bytes) -> None:
        os.write(self.file, text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.type(key.encode())
            time.sleep(0.3)  # one key at a time, as from a keyboard

    def wait_for(self, words: str) -> None:
        """Read until the words have been written since the last wait."""
        self.output = b""
        self._read_until(lambda: words in self.text)

    def read_until(self, expected: bytes) -> None:
        """Read until something has been written, perhaps before."""
        self._read_until(lambda: expected in self.output)

    def finish(self) -> str:
        """Return what is written until the process ends well."""
        self.output = b""
        self._read_until(lambda: self.process.poll() is not None)
        while self._read(seconds=0):
            pass
        assert self.process.returncode == 0, self.text
        return self.text

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._inside)  # not before: reading from a terminal that nobody has open is an error
        os.close(self.file)

    def _read_until(self, is_enough: Callable[[], bool]) -> None:
        deadline = time.monotonic() + MOST_SECONDS
        while not is_enough():
            assert time.monotonic() < deadline, self.text
            self._read(seconds=0.1)

    def _read(self, *, seconds: float) -> bool:
        if not select.select([self.file], [], [], seconds)[0]:
            return False
        self.output += os.read(self.file, 65_536)
        return True
