"""The head and the tail of a stream of any length, kept in a bounded amount of memory."""

from codecs import getincrementaldecoder
from collections.abc import Iterator

LONGEST_LINE = 2000
"""Length in characters at which an incomplete line is passed on."""


class OutputCapture:
    """Bounded capture of the output of one command."""

    def __init__(self, limit: int) -> None:
        """Keep at most `limit` bytes: one half from the start, the other from the end."""
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> Iterator[str]:
        """Take the next bytes and yield the lines that they complete, without line ends."""
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            overflow = data[room:]
        else:
            overflow = data
        self._tail += overflow
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._dropped += excess
        *lines, self._line = (self._line + self._decoder.decode(data)).split("\n")
        yield from lines
        if len(self._line) > LONGEST_LINE:
            yield self._line
            self._line = ""

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped."""
        return self._dropped > 0

    @property
    def text(self) -> str:
        """The captured output, with a line in place of dropped bytes."""
        gap = f"\n... {self._dropped} bytes of output dropped here ...\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")
