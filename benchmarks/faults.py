"""Seeded faults for the repair benchmark: one or two small wrong edits of a source file."""

import ast
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.mutations import Text


@dataclass(frozen=True)
class Edit:
    """One replacement in a file's text."""

    kind: str
    start: int
    end: int
    new: str


COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"),
    ast.LtE: ("<", ">="),
    ast.Gt: (">=", "<"),
    ast.GtE: (">", "<="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.FloorDiv: "/",
    ast.Div: "*",
    ast.Mod: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
OPERATOR = re.compile(r"[^\s()\\]+(?:\s+(?:not|in)\b)?")
NEIGHBOURS = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "append": "extend",
    "extend": "append",
    "keys": "values",
}
NEIGHBOURS |= {
    "startswith": "endswith",
    "endswith": "startswith",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "upper": "lower",
    "lower": "upper",
}
NEIGHBOURS |= {
    "split": "rsplit",
    "find": "rfind",
    "index": "rindex",
    "popleft": "pop",
    "isalpha": "isalnum",
    "isdigit": "isalnum",
}


def _operators(text: Text) -> Iterator[Edit]:
    for node in text.nodes(ast.Compare, ast.BinOp, ast.BoolOp, inside=True):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                for new in COMPARISONS[type(op)]:
                    yield from _between(text, left, right, new)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not isinstance(
                left, ast.Constant | ast.JoinedStr
            ):
                yield from _between(text, left, right, ARITHMETIC[type(op)])
            case ast.BoolOp(op=op, values=[left, right]):
                yield from _between(text, left, right, "or" if isinstance(op, ast.And) else "and")


def _between(text: Text, left: ast.AST, right: ast.AST, new: str) -> Iterator[Edit]:
    """Yield the operator alone: parentheses around its operands stay."""
    start, end = text.span(left)[1], text.span(right)[0]
    between = text.text[start:end]
    if match := OPERATOR.search(between) if "#" not in between else None:
        yield Edit("operator", start + match.start(), start + match.end(), new)


def _constants(text: Text) -> Iterator[Edit]:
    for node in text.nodes(ast.Constant, inside=True):
        assert isinstance(node, ast.Constant)
        if isinstance(text.parents[node], ast.JoinedStr | ast.FormattedValue | ast.Expr):
            continue
        start, end = text.span(node)
        if isinstance(node.value, bool) or node.value is None:
            yield Edit("constant", start, end, str(not node.value))
        elif isinstance(node.value, int):
            yield Edit("constant", start, end, str(node.value + 1))
            yield Edit("constant", start, end, str(node.value - 1))


def _conditions(text: Text) -> Iterator[Edit]:
    for node in text.nodes(ast.If, ast.IfExp, ast.While, inside=True):
        assert isinstance(node, ast.If | ast.IfExp | ast.While)
        start, end = text.span(node.test)
        yield Edit("condition", start, end, f"not ({text.text[start:end]})")
        if isinstance(node, ast.If):
            yield Edit("condition", start, end, "True")


def _names(text: Text) -> Iterator[Edit]:
    """Yield a local name in place of another of the same function."""
    for function in text.nodes(ast.FunctionDef, inside=False):
        assert isinstance(function, ast.FunctionDef)
        local = sorted(
            {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
        )
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Load)
                and node.id in local
                and text.in_function(node)
            ):
                start, end = text.span(node)
                yield from (Edit("name", start, end, other) for other in local if other != node.id)


def _calls(text: Text) -> Iterator[Edit]:
    for node in text.nodes(ast.Call, inside=True):
        assert isinstance(node, ast.Call)
        start, end = text.span(node.func)
        called = text.text[start:end]
        name = called.rpartition(".")[2]
        if name in NEIGHBOURS:
            yield Edit("call", end - len(name), end, NEIGHBOURS[name])
        if len(node.args) == 2 and not node.keywords:
            first, second = (text.segment(argument) for argument in node.args)
            yield Edit("call", *text.span(node), f"{called}({second}, {first})")


def _statements(text: Text) -> Iterator[Edit]:
    for node in text.nodes(
        ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Continue, ast.Break, inside=True
    ):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield Edit("deleted statement", *text.span(node), "pass")


KINDS: dict[str, Callable[[Text], Iterator[Edit]]] = {
    "operator": _operators,
    "constant": _constants,
    "condition": _conditions,
    "name": _names,
    "call": _calls,
    "deleted statement": _statements,
}


@dataclass(frozen=True)
class Fault:
    """A file with wrong edits."""

    text: str
    kinds: str
    alone: tuple[str, ...]
    """The file with each of the edits by itself."""


def fault(source: str, rng: random.Random, *, edits: int) -> Fault | None:
    """Return the text with seeded wrong edits, or None if nothing fits or the result does not parse."""
    text = Text(source)
    chosen: list[Edit] = []
    for _ in range(edits):
        kind = rng.choice([*KINDS])
        free = [
            edit
            for edit in KINDS[kind](text)
            if all(edit.end <= other.start or other.end <= edit.start for other in chosen)
        ]
        if not free:
            return None
        chosen.append(rng.choice(free))
    alone = tuple(_apply(source, [edit]) for edit in chosen)
    new = _apply(source, chosen)
    try:
        same = ast.dump(ast.parse(new)) == ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    return None if same else Fault(new, " and ".join(edit.kind for edit in chosen), alone)


def _apply(source: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda edit: -edit.start):
        source = source[: edit.start] + edit.new + source[edit.end :]
    return source
