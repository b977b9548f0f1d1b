"""Comparison of diff lines and file lines, from strict to lenient."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from coder.patching.dialects.hunk import Line

LOOK_ALIKES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u2060\ufeff", ""),
    "\u2026": "...",
}
"""Punctuation and spaces that readers and models mistake for ASCII characters."""
TO_ASCII = str.maketrans(LOOK_ALIKES)
ELLIPSIS = re.compile(
    r"(?:#|//|--|/\*+|<!--|;|%|\[|\()?\s*(?:\.{3,}|\u2026)"
    r"(?:[\w ,'-]*\b(?:code|lines?|rest|existing|unchanged|omitted|same|before|file"
    r"|method|function)\b[\w ,'-]*)?"
    r"(?:\.{3,}|\u2026)?\s*(?:\*/|-->|\]|\))?"
)

Same = Callable[[Line, str], bool]


def key(text: str) -> str:
    """Normalize a line for the most lenient comparison: invisible differences are dropped."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(TO_ASCII))
    return " ".join(text.split())


def plain(text: str) -> str:
    """Return the line in ASCII punctuation, without trailing white space."""
    return (
        text.rstrip() if text.isascii() else unicodedata.normalize("NFC", text.translate(TO_ASCII)).rstrip()
    )


def exactly(line: Line, actual: str) -> bool:
    """Tell whether the lines are equal."""
    return line.text == actual


def but_for_trailing_space(line: Line, actual: str) -> bool:
    """Tell whether the lines are equal apart from trailing white space."""
    return line.text.rstrip() == actual.rstrip()


def but_for_a_lost_mark(line: Line, actual: str) -> bool:
    """Tell whether the lines are equal if a context line's first space was taken for its lost mark."""
    return but_for_trailing_space(line, actual) or (
        line.mark == " " and f" {line.text}".rstrip() == actual.rstrip()
    )


def but_for_look_alikes(line: Line, actual: str) -> bool:
    """Tell whether the lines are equal apart from look-alike characters."""
    return plain(line.text) == plain(actual)


COMPARISONS: Sequence[Same] = (exactly, but_for_trailing_space, but_for_a_lost_mark, but_for_look_alikes)


def is_elision(line: Line) -> bool:
    """Tell whether a context line only stands for omitted lines."""
    return line.mark == " " and ELLIPSIS.fullmatch(line.text.strip()) is not None
