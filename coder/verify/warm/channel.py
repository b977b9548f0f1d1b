"""Requests to a sandboxed process through named pipes; target/server/coder_channel.py is the other end."""

import json
import os
import select
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coder.verify.running.tree_edits import overwrite


class HostChannel:
    """The host's end of a request channel."""

    def __init__(self, place: Path, name: str) -> None:
        files = [place / f"{name}.{direction}" for direction in ("requests", "answers")]
        for file in files:
            os.mkfifo(file, 0o600)
        self._request_file = place / f"{name}.asked"
        # Opened for reading and writing: then opening does not block, and the pipe never reports its end.
        self._requests, self._answers = (os.open(file, os.O_RDWR | os.O_CLOEXEC) for file in files)
        self._buffer = b""

    def send(self, request: Mapping[str, Any]) -> None:
        """Write the request into its file and signal it."""
        # In a file, since a request can exceed the capacity of a pipe that nobody reads yet.
        overwrite(self._request_file, json.dumps(request).encode("ascii"))
        os.write(self._requests, b"\n")

    def read_line(self, seconds: float) -> str | None:
        """Return the next line, None if none is complete within `seconds`."""
        if b"\n" not in self._buffer and select.select([self._answers], [], [], seconds)[0]:
            self._buffer += os.read(self._answers, 1 << 16)
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        return line.decode("ascii")

    def close(self) -> None:
        os.close(self._requests)
        os.close(self._answers)
