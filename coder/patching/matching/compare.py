"""Comparison of diff lines and file lines, from strict to lenient."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from coder.patching.dialects.hunk import HunkLine

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

LineComparison = Callable[[HunkLine, str], bool]


def normalize_line(text: str) -> str:
    """Normalize a line for the most lenient comparison: invisible differences are dropped."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(TO_ASCII))
    return " ".join(text.split())


def to_ascii(text: str) -> str:
    """Return the line in ASCII punctuation, without trailing white space."""
    return (
        text.rstrip() if text.isascii() else unicodedata.normalize("NFC", text.translate(TO_ASCII)).rstrip()
    )


def equal_exactly(line: HunkLine, actual: str) -> bool:
    """Tell whether the lines are equal."""
    return line.text == actual


def equal_ignoring_trailing_space(line: HunkLine, actual: str) -> bool:
    """Tell whether the lines are equal apart from trailing white space."""
    return line.text.rstrip() == actual.rstrip()


def equal_ignoring_lost_mark(line: HunkLine, actual: str) -> bool:
    """Tell whether the lines are equal if a context line's first space was taken for its lost mark."""
    return equal_ignoring_trailing_space(line, actual) or (
        line.mark == " " and f" {line.text}".rstrip() == actual.rstrip()
    )


def equal_ignoring_look_alikes(line: HunkLine, actual: str) -> bool:
    """Tell whether the lines are equal apart from look-alike characters."""
    return to_ascii(line.text) == to_ascii(actual)


COMPARISONS: Sequence[LineComparison] = (
    equal_exactly,
    equal_ignoring_trailing_space,
    equal_ignoring_lost_mark,
    equal_ignoring_look_alikes,
)


def is_elision(line: HunkLine) -> bool:
    """Tell whether a context line only stands for omitted lines."""
    return line.mark == " " and ELLIPSIS.fullmatch(line.text.strip()) is not None
