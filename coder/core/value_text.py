"""Source text of calls and values, shortened between elements rather than inside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

ELLIPSIS = "…"
MOST_CHARACTERS = 70
"""Length of a shown call or value, unless stated."""
ARGUMENTS = "; arguments now "
"""In a result: what follows is the call as its object and its arguments are afterwards."""
STATE = "; state "
"""In a result: what follows is what no representation shows, of the result or of the object and arguments."""
DEEPEST = 20
"""Nested brackets that are told apart."""
_TOKENS = re.compile(
    r"""(?P<string>[bru]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))|(?P<open>[(\[{])|(?P<close>[)\]}])"""
    r"""|(?P<comma>,\s*)|(?P<text>.)""",
    re.DOTALL,
)
_CUT = re.compile(r"\.\.\.(\(\d+\))?#[0-9a-f]{8}")
"""Mark of a text that was cut when it was recorded, with a digest of the whole."""


@dataclass(eq=False)
class _Group:
    """Bracketed elements, each a sequence of text and groups."""

    left: str
    elements: list[list[_Part]] = field(default_factory=lambda: [[]])
    right: str = ""

    def __str__(self) -> str:
        return f"{self.left}{', '.join(map(_join, self.elements))}{self.right}"


_Part = str | _Group


def shorten_value(text: str, *, other: str = "", limit: int = MOST_CHARACTERS) -> str:
    """Return the source text of a value or call in about `limit` characters, as one line.

    Elements are left out as wholes. Those in which it differs from the `other` text are kept longest; text
    without elements, such as a string, is cut around the first difference.
    """
    text, other = (" ".join(_CUT.sub(ELLIPSIS, value).split("\n")) for value in (text, other))
    return text if len(text) <= limit else _shorten(_parse(text), _parse(other), limit)


def shorten_results(before: str, after: str, *, limit: int = MOST_CHARACTERS) -> tuple[str, str]:
    """Return two results of one call, each shortened around the difference.

    Where they differ in what the call did to its object or arguments alone, only this is returned, and where
    they differ in what it gave, this alone if all is too long.
    """
    (shown, *hidden), (other, *other_hidden) = (text.split(STATE) for text in (before, after))
    if shown == other and hidden != other_hidden:
        states = tuple(
            next((state for state in side if state not in opposite), "")
            for side, opposite in ((hidden, other_hidden), (other_hidden, hidden))
        )
        return _describe_states(*states, limit=limit)
    (old, _, old_state), (new, _, new_state) = (text.partition(ARGUMENTS) for text in (shown, other))
    if old == new and old_state != new_state:
        return _describe_states(old_state, new_state, limit=limit)
    if old == new or (old_state != new_state and max(len(shown), len(other)) <= limit):
        old, new = shown, other
    return shorten_value(old, other=new, limit=limit), shorten_value(new, other=old, limit=limit)


def _describe_states(before: str, after: str, *, limit: int) -> tuple[str, str]:
    """Return what a call leaves on both sides: calls as their object and arguments are then, or objects."""
    states = [_parse(state) for state in (before, after)]
    methods = {_join(parts[2:]) for parts in states if parts}
    texts = [_join(parts[:2] if len(methods) == 1 else parts) for parts in states]
    first, second = (
        f"leaves {shorten_value(text, other=other, limit=limit)}" if text else "leaves all as it was"
        for text, other in (texts, texts[::-1])
    )
    return first, second


def _parse(text: str) -> list[_Part]:
    """Split a text at brackets and commas; unbalanced brackets end with the text."""
    if text.startswith("raises "):  # a message is prose, whose brackets need not balance
        return [text]
    root = _Group("")
    groups = [root]
    for match in _TOKENS.finditer(text):
        kind, token = match.lastgroup, match[0]
        parts = groups[-1].elements[-1]
        if kind == "open" and len(groups) < DEEPEST:
            groups.append(_Group(token))
            parts.append(groups[-1])
        elif kind == "close" and len(groups) > 1:
            groups.pop().right = token
        elif kind == "comma" and len(groups) > 1:
            groups[-1].elements.append([])
        elif parts and isinstance(parts[-1], str) and kind != "string" and parts[-1][-1:] not in "'\"":
            parts[-1] += token
        else:
            parts.append(token)
    return root.elements[0]


def _join(parts: list[_Part]) -> str:
    return "".join(map(str, parts))


def _shorten(parts: list[_Part], other: list[_Part], limit: int) -> str:
    """Return parts in about `limit` characters: differing ones whole if possible, then the last ones."""
    texts = [part if isinstance(part, str) else f"{part.left}{ELLIPSIS}{part.right}" for part in parts]
    differs = [index >= len(other) or str(part) != str(other[index]) for index, part in enumerate(parts)]
    for index in sorted(range(len(parts)), key=lambda index: (not differs[index], -index)):
        part, counterpart = parts[index], other[index] if index < len(other) else ""
        room = limit - sum(map(len, texts)) + len(texts[index])
        if isinstance(part, str):
            texts[index] = _cut(part, str(counterpart), room)
        else:
            texts[index] = _shorten_group(part, counterpart, room)
    return "".join(texts)


def _shorten_group(group: _Group, other: _Part, limit: int) -> str:
    """Return a group without some of its elements, the differing ones last."""
    if len(str(group)) <= limit:
        return str(group)
    opposite = other.elements if isinstance(other, _Group) else []
    texts, other_texts = [_join(element) for element in group.elements], [*map(_join, opposite)]
    start = common_length(texts, other_texts)
    end = len(texts) - common_length(texts[start:][::-1], other_texts[start:][::-1])
    if start == end or not opposite:
        start, end = 0, len(texts)
    shown: dict[int, str] = {}
    for index in [*range(start, end), *range(start - 1, -1, -1), *range(end, len(texts))]:
        trial = {**shown, index: texts[index]}
        length = len(_show(group, trial))
        if length > limit and not shown:
            counterpart = opposite[index] if index < len(opposite) else []
            trial[index] = _shorten(group.elements[index], counterpart, len(texts[index]) - length + limit)
        elif length > limit:
            break
        shown = trial
    return _show(group, shown)


def _show(group: _Group, shown: dict[int, str]) -> str:
    """Return a group with the shown elements, an ellipsis for each run of others."""
    texts: list[str] = []
    for index in range(len(group.elements)):
        if index in shown or texts[-1:] != [ELLIPSIS]:
            texts.append(shown.get(index, ELLIPSIS))
    return f"{group.left}{', '.join(texts)}{group.right}"


def common_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many characters or elements at the beginning are the same."""
    pairs = zip(first, second, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _cut(text: str, other: str, limit: int) -> str:
    """Return a text without elements, around its first difference; a string keeps its quotes."""
    limit = max(limit, 12)
    if len(text) <= limit:
        return text
    quote = text[-1] if text[-1] in "'\"" else ""
    position = common_length(text, other) if other else 0
    room = limit - 2 * len(f"{quote}{ELLIPSIS}")
    start = max(0, min(position - limit // 3, len(text) - room))
    head = f"{quote}{ELLIPSIS}" if start else ""
    tail = f"{ELLIPSIS}{quote}" if text[start + room :] else ""
    return f"{head}{text[start : start + room]}{tail}"
