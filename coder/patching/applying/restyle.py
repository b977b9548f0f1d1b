"""Write added lines the way the file is written, learned from how it has the lines that the hunk says are there already."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coder.patching.dialects.hunk import Line, Run
from coder.patching.matching.compare import LOOK_ALIKES, plain

Pairs = Sequence[tuple[Line, str]]


@dataclass(frozen=True, kw_only=True)
class Style:
    """How what a hunk says differs from how the file says it."""

    indents: Mapping[str, str]
    """The file's leading white space for each that the hunk has been seen with; empty: the same."""
    surplus: str
    """White space that the hunk has at the end of every line, and the file at none."""
    signs: Mapping[str, str]
    """The file's characters for those of the hunk that look alike."""
    carried: Pairs
    """Lines that the hunk removes and that the file has with other characters."""


def learned(pairs: Pairs) -> Style | None:
    """What the pairs teach; None where they contradict each other."""
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
        signs=_signs(different),
        carried=[(line, actual) for line, actual in different if line.mark == "-"],
    )


def restyled(run: Run, style: Style) -> tuple[Line, ...] | None:
    """The run's added lines in the file's style; None where their indentation cannot be told."""
    result = []
    surplus = style.surplus if all(line.text.endswith(style.surplus) for line in run.added) else ""
    for line in run.added:
        text = line.text.removesuffix("\r")
        text = text.removesuffix(surplus)
        text = "".join(style.signs.get(sign, sign) for sign in text)
        text = _carried(text, style.carried) if style.carried else text
        indented = _indented(text, style.indents)
        if indented is None:
            return None
        result.append(Line(mark="+", text=indented, ends=line.ends))
    return tuple(result)


def _surplus(pairs: Pairs) -> str:
    ends = {
        text[len(text.rstrip()) :] if text.rstrip() != text and actual.rstrip() == actual else ""
        for text, actual in _texts(pairs)
    }
    return ends.pop() if len(pairs) > 1 and len(ends) == 1 else ""


def _texts(pairs: Pairs) -> Iterator[tuple[str, str]]:
    return ((line.text.removesuffix("\r"), actual) for line, actual in pairs)


def _depth(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _indents(pairs: Pairs) -> dict[str, str] | None:
    """What each indentation of the hunk is in the file, by its removed lines or, where there are none, by its context.

    A context line that is one space short has lost its mark, and says nothing.
    """
    removed = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == "-"}
    context = {(_depth(line.text), _depth(actual)) for line, actual in pairs if line.mark == " "}
    same = all(said == meant for said, meant in context)
    if removed and _is_function(removed) and (same or not _is_function(removed | context)):
        context = set()
    elif not removed or all(said == meant for said, meant in removed):
        context = {(said, meant) for said, meant in context if meant != f" {said}"}
    found = removed | context
    if all(said == meant for said, meant in found):
        return {}
    return dict(found) if _is_function(found) else None


def _is_function(pairs: set[tuple[str, str]]) -> bool:
    return len({said for said, _ in pairs}) == len(pairs)


def _indented(text: str, indents: Mapping[str, str]) -> str | None:
    """The text with the file's indentation: as seen, or as far as possible as seen and the rest added or taken away."""
    said = _depth(text)
    if not indents or not text.strip():
        return "" if indents and text == " " else text
    if said in indents:
        return indents[said] + text[len(said) :]
    if all(_converted(seen, indents) == meant for seen, meant in indents.items()):
        return _converted(said, indents) + text[len(said) :]
    shorter = max((seen for seen in indents if said.startswith(seen)), key=len, default=None)
    if shorter is not None:
        return indents[shorter] + _converted(said[len(shorter) :], indents) + text[len(said) :]
    longer = min((seen for seen in indents if seen.startswith(said)), key=len, default=None)
    if longer is None:
        return None
    rest = _converted(longer[len(said) :], indents)
    return indents[longer].removesuffix(rest) + text[len(said) :] if indents[longer].endswith(rest) else None


def _converted(space: str, indents: Mapping[str, str]) -> str:
    """Tabs as spaces or spaces as tabs, if that is what the file has for the hunk's."""
    for said, meant in indents.items():
        tabs, spaces = (said, meant) if "\t" in said else (meant, said)
        if not (tabs.strip("\t") or spaces.strip(" ")) and tabs and spaces and len(spaces) % len(tabs) == 0:
            unit = " " * (len(spaces) // len(tabs))
            return space.replace("\t", unit) if tabs is said else space.replace(unit, "\t")
    return space


def _signs(pairs: Pairs) -> dict[str, str]:
    """The look-alikes of the hunk that the file has in ASCII."""
    return {
        sign: LOOK_ALIKES[sign]
        for line, actual in pairs
        for sign in set(line.text) - set(actual)
        if sign in LOOK_ALIKES
    }


def _carried(text: str, pairs: Pairs) -> str:
    """The text with the file's own characters where it repeats a removed line."""
    best, actual = max(
        ((line.text, actual) for line, actual in pairs),
        key=lambda pair: difflib.SequenceMatcher(None, pair[0], text).ratio(),
    )
    if len(best.strip()) != len(actual.strip()) or plain(best.strip()) != plain(actual.strip()):
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
