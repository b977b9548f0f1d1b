"""Wrong string literals, corrected from the expected and seen texts of assertions."""

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.repair.context.site import Rewrite, RewriteSite

PYTEST_COMPARISON = re.compile(r"assert (['\"].*?['\"]) == (['\"].*?['\"])\s*$", re.MULTILINE)
UNITTEST_COMPARISON = re.compile(r"^(['\"].*?['\"]) != (['\"].*?['\"])\s*$", re.MULTILINE)
QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"")
LITERAL = re.compile(r"(?s)(\w*)('''|\"\"\"|'|\")(.*)\2")
FORMAT_PLACEHOLDER = re.compile(r"(\{[^{}]*\}|%(?:\(\w+\))?[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z])")
"""Placeholder of a format string."""
LITERAL_GAP = re.compile(r"(?<=['\"])(\s+)(?=['\"])")
"""White space between two literals that Python concatenates."""
SEPARATORS = (",", ", ", " ", "\n", ".", "/", "-", "_", ":", ";", "=", "\t", "|")
MAX_TEXT_LENGTH = 60


def string(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a literal by its counterpart in the expected text, or by a similar quoted text."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(
        site.parent, ast.Expr | ast.JoinedStr
    ):
        return
    weights: dict[str, float] = {}
    for actual, expected in differing_texts(site.failures):
        for old_text, new_text in ((actual, expected), (expected, actual)):
            if (
                node.value
                and node.value in old_text
                and (text := aligned_text(node.value, old_text, new_text)) is not None
            ):
                weights[text] = 0.7
    for text in quoted_texts(site.failures):
        ratio = SequenceMatcher(None, node.value, text, autojunk=False).ratio()
        if ratio > 0.6:
            weights.setdefault(text, 0.6 * ratio)
    for text in (
        node.value.strip(),
        node.value.lower(),
        node.value.upper(),
        f"{node.value} ",
        f" {node.value}",
        f"{node.value}\n",
    ):
        weights.setdefault(text, 0.25)
    weights = _separators(site, node.value) | weights
    for text, weight in weights.items():
        if text != node.value and len(text) <= MAX_TEXT_LENGTH:
            yield from site.replace_expression(
                node,
                string_literal(text, site.source.text_of(node)),
                weight=weight,
                summary=f"write {text!r} instead of {node.value!r}",
            )


def _separators(site: RewriteSite, value: str) -> dict[str, float]:
    """Return other separators with weights, those that the failures quote heavier."""
    quoted_text = "".join(quoted_texts(site.failures))
    separators = SEPARATORS if value in ("", *SEPARATORS) and _is_separator(site) else ()
    return {
        separator: (0.5 if separator in quoted_text else 0.35) * 0.97**rank
        for rank, separator in enumerate(separators)
    }


def _is_separator(site: RewriteSite) -> bool:
    """Tell whether the literal is the separator of a join or split."""
    match site.parent:
        case ast.Attribute(attr="join"):
            return True
        case ast.Call(
            func=ast.Attribute(attr="split" | "rsplit" | "partition" | "rpartition"), args=[separator, *_]
        ):
            return separator is site.node
        case _:
            return False


def separated(site: RewriteSite) -> Iterator[Rewrite]:
    """Insert a missing comma between adjacent literals: `'b', 'c'` for `'b' 'c'`."""
    node = site.node
    is_element = isinstance(site.parent, ast.List | ast.Tuple | ast.Set | ast.Call)
    if not is_element or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    start, _ = site.source.span(node)
    for match in LITERAL_GAP.finditer(site.source.text_of(node)):
        position = start + match.start(1)
        yield Rewrite(
            (TextChange(start=position, end=position, text=","),), 0.6, "add a comma between two strings"
        )


def filled(site: RewriteSite) -> Iterator[Rewrite]:
    """Correct the text between the placeholders of a format string."""
    node = site.node
    if not isinstance(node, ast.JoinedStr | ast.Constant) or isinstance(
        site.parent, ast.JoinedStr | ast.Expr
    ):
        return
    code = site.source.text_of(node)
    match = LITERAL.fullmatch(code)
    if match is None or "\\" in code or len(pieces := FORMAT_PLACEHOLDER.split(match[3])) == 1:
        return
    texts = pieces[::2]
    pairs = [
        pair
        for old_text, new_text in differing_texts(site.failures)
        for pair in ((old_text, new_text), (new_text, old_text))
    ]
    for old_text, new_text in pairs:
        for index, (text, start) in enumerate(zip(texts, _locate_texts(texts, old_text), strict=False)):
            replacement = aligned_text(text, old_text, new_text, start)
            if (
                replacement is not None
                and len(replacement) < len(text) + MAX_TEXT_LENGTH
                and not re.search(r"[{}\\\n'\"]", replacement)
            ):
                body = "".join([*pieces[: 2 * index], replacement, *pieces[2 * index + 1 :]])
                summary = f"write {replacement[-40:]!r} instead of {text[-40:]!r}"
                yield from site.replace_expression(
                    node, code.replace(match[3], body), weight=0.7, summary=summary
                )


def _locate_texts(texts: Sequence[str], actual: str) -> list[int]:
    """Return the offsets of consecutive texts in what was seen; empty if one is missing.

    The last text is located at the end if possible.
    """
    offsets: list[int] = []
    end = 0
    for number, text in enumerate(texts):
        last = len(actual) - len(text) if number == len(texts) - 1 and actual.endswith(text) else -1
        start = last if last >= end else actual.find(text, end)
        if start < 0:
            return []
        offsets.append(start)
        end = start + len(text)
    return offsets


def differing_texts(failures: tuple[Failure, ...]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts that an assertion found to differ."""
    for failure in failures:
        for pattern in (PYTEST_COMPARISON, UNITTEST_COMPARISON):
            for left, right in pattern.findall(failure.message):
                try:
                    values = ast.literal_eval(left), ast.literal_eval(right)
                except (SyntaxError, ValueError):
                    continue
                if all(isinstance(value, str) for value in values):
                    yield values


def quoted_texts(failures: tuple[Failure, ...]) -> frozenset[str]:
    """Return short texts that the messages quote."""
    return frozenset(
        single or double for failure in failures for single, double in QUOTED.findall(failure.message)
    )


def aligned_text(text: str, seen: str, expected: str, start: int | None = None) -> str | None:
    """Return the part of `expected` that is aligned with `text` in `seen`; None if it is equal.

    `text` is located at `start`, or at its first occurrence.
    """
    start = seen.find(text) if start is None else start
    end = start + len(text)
    pieces = []
    for tag, seen_from, seen_to, from_, to in SequenceMatcher(
        None, seen, expected, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            pieces.append(
                expected[from_ + max(start - seen_from, 0) : from_ + max(min(end, seen_to) - seen_from, 0)]
            )
        elif (seen_from < end and seen_to > start) or (seen_from == seen_to and start <= seen_from <= end):
            pieces.append(expected[from_:to])
    result = "".join(pieces)
    return result if result != text else None


def string_literal(text: str, old: str) -> str:
    """Return a string literal in the quotes of the one it replaces."""
    representation = repr(text)
    if old.startswith('"') and representation.startswith("'") and '"' not in text:
        return f'"{representation[1:-1]}"'
    return representation
