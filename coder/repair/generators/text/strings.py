"""Wrong text: what the assertion expected where it saw something else."""

import ast
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from coder.core.ports.repair import Change
from coder.core.values.verdict import Failure
from coder.repair.context.site import Rewrite, Site

COMPARED = re.compile(r"assert (['\"].*?['\"]) == (['\"].*?['\"])\s*$", re.MULTILINE)
UNITTEST = re.compile(r"^(['\"].*?['\"]) != (['\"].*?['\"])\s*$", re.MULTILINE)
QUOTED = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"")
LITERAL = re.compile(r"(?s)(\w*)('''|\"\"\"|'|\")(.*)\2")
HOLE = re.compile(r"(\{[^{}]*\}|%(?:\(\w+\))?[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z])")
"""What a text is filled in at."""
ADJACENT = re.compile(r"(?<=['\"])(\s+)(?=['\"])")
"""Between two literals that Python reads as one."""
SEPARATORS = (",", ", ", " ", "\n", ".", "/", "-", "_", ":", ";", "=", "\t", "|")
LONGEST = 60


def string(site: Site) -> Iterator[Rewrite]:
    """The part of the expected text that stands where the literal stands in the text that was seen, or a quoted text alike."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(
        site.parent, ast.Expr | ast.JoinedStr
    ):
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
    for text in (
        node.value.strip(),
        node.value.lower(),
        node.value.upper(),
        f"{node.value} ",
        f" {node.value}",
        f"{node.value}\n",
    ):
        new.setdefault(text, 0.25)
    new = _separators(site, node.value) | new
    for text, weight in new.items():
        if text != node.value and len(text) <= LONGEST:
            yield from site.replace(
                node,
                literal(text, site.source.code(node)),
                weight=weight,
                summary=f"write {text!r} instead of {node.value!r}",
            )


def _separators(site: Site, value: str) -> dict[str, float]:
    """Other ways to part a text, those that the failures quote first."""
    told = "".join(quoted(site.failures))
    signs = SEPARATORS if value in ("", *SEPARATORS) and _is_between(site) else ()
    return {sign: (0.5 if sign in told else 0.35) * 0.97**rank for rank, sign in enumerate(signs)}


def _is_between(site: Site) -> bool:
    """Does it stand between the parts of a text?"""
    match site.parent:
        case ast.Attribute(attr="join"):
            return True
        case ast.Call(
            func=ast.Attribute(attr="split" | "rsplit" | "partition" | "rpartition"), args=[sign, *_]
        ):
            return sign is site.node
        case _:
            return False


def separated(site: Site) -> Iterator[Rewrite]:
    """`'b', 'c'` for `'b' 'c'` among the members of a list, or what a call is given."""
    node = site.node
    listed = isinstance(site.parent, ast.List | ast.Tuple | ast.Set | ast.Call)
    if not listed or not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return
    start, _ = site.source.span(node)
    for match in ADJACENT.finditer(site.source.code(node)):
        at = start + match.start(1)
        yield Rewrite((Change(start=at, end=at, text=","),), 0.6, "a comma between two texts")


def filled(site: Site) -> Iterator[Rewrite]:
    """A text that is filled in, with what the expected text has between the holes where the text that was seen has something else."""
    node = site.node
    if not isinstance(node, ast.JoinedStr | ast.Constant) or isinstance(
        site.parent, ast.JoinedStr | ast.Expr
    ):
        return
    code = site.source.code(node)
    written = LITERAL.fullmatch(code)
    if written is None or "\\" in code or len(pieces := HOLE.split(written[3])) == 1:
        return
    texts = pieces[::2]
    pairs = [pair for one, other in compared(site.failures) for pair in ((one, other), (other, one))]
    for one, other in pairs:
        for place, (text, start) in enumerate(zip(texts, _places(texts, one), strict=False)):
            new = counterpart(text, one, other, start)
            if new is not None and len(new) < len(text) + LONGEST and not re.search(r"[{}\\\n'\"]", new):
                body = "".join([*pieces[: 2 * place], new, *pieces[2 * place + 1 :]])
                summary = f"write {new[-40:]!r} instead of {text[-40:]!r}"
                yield from site.replace(node, code.replace(written[3], body), weight=0.7, summary=summary)


def _places(texts: Sequence[str], seen: str) -> list[int]:
    """Where texts stand one after the other in what was seen, the last at its end if it can; nothing where one does not."""
    found: list[int] = []
    end = 0
    for number, text in enumerate(texts):
        last = len(seen) - len(text) if number == len(texts) - 1 and seen.endswith(text) else -1
        start = last if last >= end else seen.find(text, end)
        if start < 0:
            return []
        found.append(start)
        end = start + len(text)
    return found


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


def counterpart(text: str, seen: str, expected: str, start: int | None = None) -> str | None:
    """The part of `expected` that stands where `text` stands in `seen`, at first or at `start`."""
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
    found = "".join(pieces)
    return found if found != text else None


def literal(text: str, old: str) -> str:
    """A string literal in the quotes of the one it replaces."""
    plain = repr(text)
    if old.startswith('"') and plain.startswith("'") and '"' not in text:
        return f'"{plain[1:-1]}"'
    return plain
