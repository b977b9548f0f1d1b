"""Adaptation of added lines to the file's style: indentation, trailing space and look-alike characters.

The style is learned from lines that the hunk and the file share.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.patching.match import LOOK_ALIKES, to_ascii
from coder.patching.parse import ChangedRun, HunkLine

Pairs = Sequence[tuple[HunkLine, str]]


@dataclass(frozen=True, kw_only=True)
class Style:
    """Differences between how a hunk and the file write the same lines."""

    indents: Mapping[str, str]
    """The file's leading white space for each that occurs in the hunk; empty: the same."""
    surplus: str
    """Trailing white space on every line of the hunk and on none of the file."""
    signs: Mapping[str, str]
    """The file's character for each look-alike in the hunk."""
    carried: Pairs
    """Lines that the hunk removes and that the file has with other characters."""


def learn_style(pairs: Pairs) -> Style | None:
    """Learn the style from pairs of a hunk's line and the file's; None where they contradict each other."""
    if all(line.text == actual for line, actual in pairs):
        return Style(indents={}, surplus="", signs={}, carried=())
    words = [(line, actual) for line, actual in pairs if line.text.strip()]
    indents = _indents(words)
    if indents is None:
        return None
    different = [(line, actual) for line, actual in words if line.text.split() != actual.split()]
    return Style(
        indents=indents,
        surplus=_surplus(words),
        signs=_look_alikes(different),
        carried=[(line, actual) for line, actual in different if line.mark == "-"],
    )


def restyle_run(run: ChangedRun, style: Style) -> tuple[HunkLine, ...] | None:
    """Return the run's added lines in the file's style; None where their indentation cannot be determined."""
    result = []
    surplus = style.surplus if all(line.text.endswith(style.surplus) for line in run.added) else ""
    for line in run.added:
        text = line.text.removesuffix("\r")
        text = text.removesuffix(surplus)
        text = "".join(style.signs.get(sign, sign) for sign in text)
        text = _restore_characters(text, style.carried) if style.carried else text
        indented = _reindent(text, style.indents)
        if indented is None:
            return None
        result.append(HunkLine(mark="+", text=indented, ends=line.ends))
    return tuple(result)


def _surplus(pairs: Pairs) -> str:
    ends = {
        text[len(text.rstrip()) :] if text.rstrip() != text and actual.rstrip() == actual else ""
        for text, actual in _line_texts(pairs)
    }
    return ends.pop() if len(pairs) > 1 and len(ends) == 1 else ""


def _line_texts(pairs: Pairs) -> Iterator[tuple[str, str]]:
    return ((line.text.removesuffix("\r"), actual) for line, actual in pairs)


def _depth(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _indents(pairs: Pairs) -> dict[str, str] | None:
    """Map each indentation of the hunk to the file's, from its removed lines, else from its context.

    A context line that is one space short has lost its mark, and is ignored.
    """
    removed = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == "-"}
    context = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == " "}
    same = all(hunk_indent == file_indent for hunk_indent, file_indent in context)
    if removed and _is_function(removed) and (same or not _is_function(removed | context)):
        context = set()
    elif not removed or all(hunk_indent == file_indent for hunk_indent, file_indent in removed):
        context = {
            (hunk_indent, file_indent)
            for hunk_indent, file_indent in context
            if file_indent != f" {hunk_indent}"
        }
    mapping = removed | context
    if all(hunk_indent == file_indent for hunk_indent, file_indent in mapping):
        return {}
    return dict(mapping) if _is_function(mapping) else None


def _is_function(pairs: set[tuple[str, str]]) -> bool:
    """Tell whether the pairs map each first element to only one second element."""
    return len({hunk_indent for hunk_indent, _ in pairs}) == len(pairs)


def _reindent(text: str, indents: Mapping[str, str]) -> str | None:
    """Return the text with the file's indentation, extrapolated from the nearest known one.

    None where impossible.
    """
    own_indent = _depth(text)
    if not indents or not text.strip():
        return "" if indents and text == " " else text
    if own_indent in indents:
        return indents[own_indent] + text[len(own_indent) :]
    if all(
        _convert_tabs(hunk_indent, indents) == file_indent for hunk_indent, file_indent in indents.items()
    ):
        return _convert_tabs(own_indent, indents) + text[len(own_indent) :]
    shorter = max(
        (hunk_indent for hunk_indent in indents if own_indent.startswith(hunk_indent)), key=len, default=None
    )
    if shorter is not None:
        return indents[shorter] + _convert_tabs(own_indent[len(shorter) :], indents) + text[len(own_indent) :]
    longer = min(
        (hunk_indent for hunk_indent in indents if hunk_indent.startswith(own_indent)), key=len, default=None
    )
    if longer is None:
        return None
    rest = _convert_tabs(longer[len(own_indent) :], indents)
    return (
        indents[longer].removesuffix(rest) + text[len(own_indent) :]
        if indents[longer].endswith(rest)
        else None
    )


def _convert_tabs(space: str, indents: Mapping[str, str]) -> str:
    """Convert tabs to spaces or spaces to tabs, where the file differs from the hunk in that way."""
    for hunk_indent, file_indent in indents.items():
        tabs, spaces = (hunk_indent, file_indent) if "\t" in hunk_indent else (file_indent, hunk_indent)
        if not (tabs.strip("\t") or spaces.strip(" ")) and tabs and spaces and len(spaces) % len(tabs) == 0:
            unit = " " * (len(spaces) // len(tabs))
            return space.replace("\t", unit) if tabs is hunk_indent else space.replace(unit, "\t")
    return space


def _look_alikes(pairs: Pairs) -> dict[str, str]:
    """Map the hunk's look-alikes to the ASCII characters that the file has."""
    return {
        sign: LOOK_ALIKES[sign]
        for line, actual in pairs
        for sign in set(line.text) - set(actual)
        if sign in LOOK_ALIKES
    }


def _restore_characters(text: str, pairs: Pairs) -> str:
    """Return the text with the file's own characters where it repeats a removed line."""
    best, actual = max(
        ((line.text, actual) for line, actual in pairs),
        key=lambda pair: difflib.SequenceMatcher(None, pair[0], text).ratio(),
    )
    if len(best.strip()) != len(actual.strip()) or to_ascii(best.strip()) != to_ascii(actual.strip()):
        return text
    lead, shift = len(_depth(best)), len(_depth(actual)) - len(_depth(best))
    result = list(text)
    for start, new_start, size in difflib.SequenceMatcher(
        None, best, text, autojunk=False
    ).get_matching_blocks():
        for index in range(max(0, lead - start), size):
            result[new_start + index] = (
                actual[start + index + shift]
                if start + index + shift < len(actual)
                else text[new_start + index]
            )
    return "".join(result)
