"""Keeps the head and the tail of a stream of any length in a fixed amount of memory."""

from codecs import getincrementaldecoder
from collections.abc import Iterator

LINE = 2000
"""Characters after which a line without an end is handed on as it is."""


class Capture:
    """What one command has printed so far."""

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` bytes: one half from the start, the other from the end."""
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take the next bytes and yield the lines that they complete, without their ends."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data_left = data[room:]
        else:
            data_left = data
        self._tail += data_left
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._dropped += excess
        *lines, self._line = (self._line + self._decoder.decode(data)).split("\n")
        yield from lines
        if len(self._line) > LINE:
            yield self._line
            self._line = ""

    @property
    def truncated(self) -> bool:
        return self._dropped > 0

    @property
    def text(self) -> str:
        """All that was kept, with a line in the place of what was dropped."""
        gap = f"\n... {self._dropped} bytes of output dropped here ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")
