"""Takes a test run's records through a named pipe while it runs; target/coder_sign.py is the other end."""

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
"""Of one record: more is no record."""
GLANCE_SECONDS = 0.2


class RecordPipe:
    """The reading end: a pipe cannot be rewritten, and what is not sealed with this run's key was not written by our recorder."""

    def __init__(self, path: Path, take: Callable[[Mapping[str, Any]], None]) -> None:
        """Make the pipe; `take` hears each record, in a thread of its own, until this is closed."""
        os.mkfifo(path, 0o600)
        self.path = path
        self.key = secrets.token_hex(16)
        self.forged = 0
        """Lines that our recorder did not write."""
        self._take = take
        self._count = 0
        self._read = b""
        # For reading and writing both, so that it never ends: a test may close the descriptors of its process.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Read what is left: the process that wrote has ended."""
        self._over.set()
        self._thread.join()
        self._drain()
        self.forged += bool(self._read)
        os.close(self._descriptor)

    def _follow(self) -> None:
        while not self._over.is_set():
            if select.select([self._descriptor], [], [], GLANCE_SECONDS)[0]:
                self._drain()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            *lines, self._read = (self._read + data).split(b"\n")
            if len(self._read) > LARGEST_BYTES:
                self._read, lines = b"", [b"", *lines]
            for line in lines:
                self._check(line)

    def _check(self, line: bytes) -> None:
        seal, _, numbered = line.partition(b" ")
        number, _, record = numbered.partition(b" ")
        expected = blake2b(numbered, key=bytes.fromhex(self.key), digest_size=16).hexdigest().encode("ascii")
        if not compare_digest(seal, expected) or number != b"%d" % (self._count + 1):
            self.forged += 1
            return
        self._count += 1
        self._take(json.loads(record))
