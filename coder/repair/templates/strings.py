"""Wrong text: what the assertion expected where it saw something else."""

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from coder.core.verdict import Failure
from coder.repair.site import Rewrite, Site

COMPARED = re.compile(r"assert (['\"].*?['\"]) == (['\"].*?['\"])\s*$", re.MULTILINE)
UNITTEST = re.compile(r"^(['\"].*?['\"]) != (['\"].*?['\"])\s*$", re.MULTILINE)
QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"")
LONGEST = 60


def string(site: Site) -> Iterator[Rewrite]:
    """The part of the expected text that stands where the literal stands in the text that was seen, or a quoted text alike."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(site.parent, ast.Expr | ast.JoinedStr):
        return
    new: dict[str, float] = {}
    for seen, expected in compared(site.failures):
        for one, other in ((seen, expected), (expected, seen)):
            if node.value and node.value in one and (text := counterpart(node.value, one, other)) is not None:
                new[text] = 0.7
    for text in quoted(site.failures):
        alike = SequenceMatcher(None, node.value, text, autojunk=False).ratio()
        if alike > 0.6:
            new.setdefault(text, 0.6 * alike)
    for text in (node.value.strip(), node.value.lower(), node.value.upper(), f"{node.value} ", f" {node.value}", f"{node.value}\n"):
        new.setdefault(text, 0.25)
    for text, weight in new.items():
        if text != node.value and len(text) <= LONGEST:
            yield from site.replace(
                node, literal(text, site.source.code(node)), weight=weight, summary=f"write {text!r} instead of {node.value!r}"
            )


def compared(failures: tuple[Failure, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of texts that an assertion found to differ."""
    for failure in failures:
        for pattern in (COMPARED, UNITTEST):
            for one, other in pattern.findall(failure.message):
                try:
                    values = ast.literal_eval(one), ast.literal_eval(other)
                except (SyntaxError, ValueError):
                    continue
                if all(isinstance(value, str) for value in values):
                    yield values


def quoted(failures: tuple[Failure, ...]) -> frozenset[str]:
    """Short texts that the messages quote."""
    return frozenset(one or other for failure in failures for one, other in QUOTED.findall(failure.message))


def counterpart(text: str, seen: str, expected: str) -> str | None:
    """The part of `expected` that stands where `text` stands in `seen`."""
    start = seen.find(text)
    end = start + len(text)
    pieces = []
    for tag, seen_from, seen_to, from_, to in SequenceMatcher(None, seen, expected, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(expected[from_ + max(start - seen_from, 0) : from_ + max(min(end, seen_to) - seen_from, 0)])
        elif (seen_from < end and seen_to > start) or (seen_from == seen_to and start <= seen_from <= end):
            pieces.append(expected[from_:to])
    found = "".join(pieces)
    return found if found != text else None


def literal(text: str, old: str) -> str:
    """A string literal in the quotes of the one it replaces."""
    plain = repr(text)
    if old.startswith('"') and plain.startswith("'") and '"' not in text:
        return f'"{plain[1:-1]}"'
    return plain
