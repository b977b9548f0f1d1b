"""From bytes to text."""

from pathlib import Path

from readtext.guessing import guess
from readtext.lines import unified
from readtext.marks import by_mark


def decode(data):
    """The text of a file's bytes, without a mark and with plain newlines."""
    encoding, length = by_mark(data)
    return unified(data[length:].decode(encoding or guess(data)))


def read(path):
    return decode(Path(path).read_bytes())
