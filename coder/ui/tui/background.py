"""Light or dark background of the terminal, by the terminal's own answer (OSC 11) or by COLORFGBG."""

import os
import re
import select
import termios
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, NamedTuple

ANSWER_SECONDS = 0.5
"""Longest wait for the answer; terminals answer within milliseconds, also those that know no colour."""
QUERY = b"\x1b]11;?\x1b\\\x1b[c"
"""The background's colour, and the device attributes (DA1), which every terminal answers, in this order."""
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F/]+)(?:\x07|\x1b\\)")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|O?.)?")
DARK_COLOURS = frozenset({"0", "1", "2", "3", "4", "5", "6", "8"})
"""Numbers of the dark ones among the 16 colours, as in COLORFGBG."""
LACKING_TERMINALS = frozenset({"", "dumb", "unknown"})

Background = Literal["light", "dark"]


class TerminalAnswer(NamedTuple):
    """The answer of a terminal, and what the user typed meanwhile."""

    background: Background | None
    """None: not known."""
    typed: str = ""


class BackgroundQuery:
    """Query for the background that is sent on entry; the terminal is restored on exit.

    Between the two other work may be done, such as imports. Nothing is sent to what is no terminal.
    """

    def __init__(
        self,
        source: int = 0,
        target: int = 2,
        environment: Mapping[str, str] = os.environ,
        *,
        is_needed: bool = True,
    ) -> None:
        """Take the descriptors that the terminal's answers are read from and queries are written to.

        Nothing is asked if the answer is not needed.
        """
        self._source, self._target = source, target
        self._environment = environment
        self._is_needed = is_needed
        self._attributes: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> "BackgroundQuery":
        is_terminal = os.isatty(self._source) and os.isatty(self._target)
        if self._is_needed and is_terminal and self._environment.get("TERM", "") not in LACKING_TERMINALS:
            self._attributes = termios.tcgetattr(self._source)
            quiet = termios.tcgetattr(self._source)
            quiet[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(self._source, termios.TCSANOW, quiet)
            os.write(self._target, QUERY)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._attributes is not None:
            termios.tcsetattr(self._source, termios.TCSANOW, self._attributes)

    def read_answer(self, seconds: float = ANSWER_SECONDS) -> TerminalAnswer:
        """Return the answer as soon as it is complete, or what came of it in time."""
        data = b""
        deadline = time.monotonic() + seconds
        while self._attributes is not None and not _ATTRIBUTES.search(data):
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._source], [], [], left)[0]:
                break
            data += os.read(self._source, 4096)
        return parse_answer(data, self._environment)


def parse_answer(data: bytes, environment: Mapping[str, str]) -> TerminalAnswer:
    """Return the background that a terminal has answered, else that of COLORFGBG, and the text around it."""
    match = _COLOUR.search(data)
    background = _classify(match[1].decode()) if match else None
    text = _SEQUENCE.sub("", _ATTRIBUTES.sub(b"", _COLOUR.sub(b"", data)).decode("utf-8", "ignore"))
    typed = "".join(character for character in text if character.isprintable() or character == "\n")
    return TerminalAnswer(background or _colour_variable(environment), typed)


def _classify(colour: str) -> Background | None:
    """Return whether a colour such as `ffff/ffff/dddd` is light, by its luma (ITU-R BT.601)."""
    parts = [part for part in colour.split("/") if part][:3]
    if len(parts) != 3:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"


def _colour_variable(environment: Mapping[str, str]) -> Background | None:
    number = environment.get("COLORFGBG", "").rpartition(";")[2]
    if not number.isdecimal():
        return None
    return "dark" if number in DARK_COLOURS else "light"
