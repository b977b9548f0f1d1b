"""The terminal's background, asked for in a pseudo-terminal that the test answers for."""

import os
import pty
import termios
import threading
from collections.abc import Iterator

import pytest

from coder.ui.tui.app import QUERY, BackgroundQuery, TerminalAnswer, parse_answer

ATTRIBUTES = b"\x1b[?62;4c"
TERMINAL = {"TERM": "xterm-256color"}


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    outside, inside = pty.openpty()
    yield outside, inside
    os.close(outside)
    os.close(inside)


@pytest.mark.parametrize(
    ("answer", "background"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "light"),
        (b"\x1b]11;rgb:1e1e/1e1e/2e2e\x07", "dark"),
        (b"\x1b]11;rgb:fd/f6/e3\x07", "light"),
        (b"\x1b]11;rgba:0000/2b2b/3636/ffff\x1b\\", "dark"),
        (b"\x1b]11;rgb:/\x07", None),
        (b"", None),
    ],
)
def test_reads_the_answered_colour(answer: bytes, background: str | None) -> None:
    assert parse_answer(answer + ATTRIBUTES, {}) == (background, "")


@pytest.mark.parametrize(
    ("value", "background"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("12;8", "dark"), ("0;default", None)],
)
def test_falls_back_to_the_variable(value: str, background: str | None) -> None:
    assert parse_answer(ATTRIBUTES, {"COLORFGBG": value}).background == background


def test_keeps_what_was_typed_meanwhile() -> None:
    data = b"fix " + b"\x1b]11;rgb:00/00/00\x07" + "größe\n".encode() + b"\x1b[A" + ATTRIBUTES
    assert parse_answer(data, {}) == TerminalAnswer("dark", "fix größe\n")


def test_asks_and_restores_the_terminal(terminal: tuple[int, int]) -> None:
    outside, inside = terminal
    before = termios.tcgetattr(inside)
    with BackgroundQuery(inside, inside, TERMINAL) as query:
        assert os.read(outside, len(QUERY)) == QUERY
        os.write(outside, b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + ATTRIBUTES)
        assert query.read_answer() == TerminalAnswer("light", "")
    assert termios.tcgetattr(inside) == before


def test_an_answer_in_pieces_is_put_together(terminal: tuple[int, int]) -> None:
    outside, inside = terminal
    with BackgroundQuery(inside, inside, TERMINAL) as query:
        os.write(outside, b"\x1b]11;rgb:ffff/ff")
        timer = threading.Timer(0.05, os.write, (outside, b"ff/ffff\x1b\\" + ATTRIBUTES))
        timer.start()
        assert query.read_answer(seconds=30) == TerminalAnswer("light", "")
        timer.join()


def test_a_silent_terminal_is_not_waited_for(terminal: tuple[int, int]) -> None:
    outside, inside = terminal
    with BackgroundQuery(inside, inside, TERMINAL) as query:
        os.write(outside, b"hello")
        assert query.read_answer(seconds=0.05) == TerminalAnswer(None, "hello")


@pytest.mark.parametrize("environment", [{}, {"TERM": "dumb"}])
def test_asks_nothing_of_a_terminal_without_sequences(
    terminal: tuple[int, int], environment: dict[str, str]
) -> None:
    outside, inside = terminal
    with BackgroundQuery(inside, inside, environment) as query:
        assert query.read_answer(seconds=30) == TerminalAnswer(None, "")
    os.set_blocking(outside, False)
    with pytest.raises(BlockingIOError):
        os.read(outside, 100)


def test_asks_nothing_of_a_pipe() -> None:
    source, target = os.pipe()
    with BackgroundQuery(source, target, TERMINAL) as query:
        assert query.read_answer(seconds=30).background is None
    os.close(target)
    assert os.read(source, 100) == b""
    os.close(source)
