"""Asks a process in the sandbox through named pipes; target/coder_channel.py is the other end."""

import json
import os
import select
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coder.verify.running.tree_edits import put


class Channel:
    """Our end."""

    def __init__(self, place: Path, name: str) -> None:
        files = [place / f"{name}.{way}" for way in ("requests", "answers")]
        for file in files:
            os.mkfifo(file, 0o600)
        self._asked = place / f"{name}.asked"
        # For reading and writing both: then neither end waits for the other to be opened, and none ever ends.
        self._requests, self._answers = (os.open(file, os.O_RDWR | os.O_CLOEXEC) for file in files)
        self._read = b""

    def send(self, request: Mapping[str, Any]) -> None:
        # In a file, for it can be longer than what a pipe takes while nobody reads it.
        put(self._asked, json.dumps(request).encode("ascii"))
        os.write(self._requests, b"\n")

    def line(self, seconds: float) -> str | None:
        """The next line; None if none is complete after so long."""
        if b"\n" not in self._read and select.select([self._answers], [], [], seconds)[0]:
            self._read += os.read(self._answers, 1 << 16)
        line, newline, rest = self._read.partition(b"\n")
        if not newline:
            return None
        self._read = rest
        return line.decode("ascii")

    def close(self) -> None:
        os.close(self._requests)
        os.close(self._answers)
