"""Bounded capture of a stream."""

from coder.sandbox.process import LONGEST_LINE, OutputCapture


def test_drops_the_middle() -> None:
    capture = OutputCapture(6)
    for data in (b"ab", b"cdef", b"g" * 100, b"xyz"):
        list(capture.feed(data))
    assert (capture.text, capture.truncated) == ("abc\n... 103 bytes of output dropped here ...\nxyz", True)


def test_joins_character_split_between_reads() -> None:
    capture = OutputCapture(100)
    euro = "\u20ac\n".encode()
    assert [*capture.feed(euro[:1]), *capture.feed(euro[1:])] == ["\u20ac"]
    assert capture.text == "\u20ac\n"


def test_passes_endless_line_in_pieces() -> None:
    capture = OutputCapture(100)
    assert list(capture.feed(b"x" * (LONGEST_LINE + 1))) == ["x" * (LONGEST_LINE + 1)]
    assert list(capture.feed(b"y\n")) == ["y"]
