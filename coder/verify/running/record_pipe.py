"""Named pipe for the signed records of a test run; target/coder_sign.py is the writing end."""

import json
import os
import secrets
import select
import threading
from collections.abc import Callable, Mapping
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LARGEST_BYTES = 16 << 20
"""Limit for one record, in bytes; a longer line is invalid."""
GLANCE_SECONDS = 0.2


class RecordPipe:
    """Reading end of the pipe.

    A pipe cannot be rewritten, and a record without a valid seal of this run's key did not come from our
    recorder.
    """

    def __init__(self, path: Path, on_record: Callable[[Mapping[str, Any]], None]) -> None:
        """Create the pipe; `on_record` receives each record in a separate thread until the pipe is closed."""
        os.mkfifo(path, 0o600)
        self.path = path
        self.key = secrets.token_hex(16)
        self.forged_lines = 0
        """Number of lines that our recorder did not write."""
        self._take = on_record
        self._count = 0
        self._partial_line = b""
        # Opened for writing too, so that it never reports its end: a test may close the writer's descriptors.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_continuously, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read the remaining records: the writing process has ended."""
        self._stopped.set()
        self._thread.join()
        self._drain()
        self.forged_lines += bool(self._partial_line)
        os.close(self._descriptor)

    def _read_continuously(self) -> None:
        while not self._stopped.is_set():
            if select.select([self._descriptor], [], [], GLANCE_SECONDS)[0]:
                self._drain()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._partial_line = (self._partial_line + data).split(b"\n")
            if len(self._partial_line) > LARGEST_BYTES:
                self._partial_line, lines = b"", [b"", *lines]
            for line in lines:
                self._verify(line)

    def _verify(self, line: bytes) -> None:
        seal, _, numbered = line.partition(b" ")
        number, _, record = numbered.partition(b" ")
        expected = blake2b(numbered, key=bytes.fromhex(self.key), digest_size=16).hexdigest().encode("ascii")
        if not compare_digest(seal, expected) or number != b"%d" % (self._count + 1):
            self.forged_lines += 1
            return
        self._count += 1
        self._take(json.loads(record))
