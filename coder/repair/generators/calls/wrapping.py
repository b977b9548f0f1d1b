"""A conversion or a clean-up call that is missing, or one too many."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.python.source import Source
from coder.repair.context.donor_code import BUILTIN, visible
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

MOST = 4

FUNCTIONS = {
    "abs": 0.3,
    "str": 0.3,
    "int": 0.25,
    "list": 0.3,
    "sorted": 0.3,
    "reversed": 0.25,
    "len": 0.3,
    "tuple": 0.2,
    "set": 0.2,
    "sum": 0.12,
    "bool": 0.2,
}
CONVERTED = re.compile(r"(not all arguments converted|not enough arguments for format string)")
METHODS = {"strip()": 0.25, "lower()": 0.25, "upper()": 0.2, "copy()": 0.25, "items()": 0.3, "values()": 0.15}
TIDYING = {"strip()": 0.35, "lstrip()": 0.25, "rstrip()": 0.25, "lower()": 0.35, "upper()": 0.2}
ASKED = ("split", "partition", "startswith", "endswith", "replace", "isdigit", "splitlines")
"""What texts are asked that is answered otherwise where they have been tidied before."""
SELDOM = 0.7
"""What speaks for it in places where it is seldom missing, against the usual ones."""
USUAL_IN = (
    ast.Call,
    ast.Return,
    ast.Assign,
    ast.keyword,
    ast.BinOp,
    ast.Compare,
    ast.Tuple,
    ast.FormattedValue,
    ast.ListComp,
    ast.SetComp,
)
SELDOM_IN = (
    ast.GeneratorExp,
    ast.Lambda,
    ast.Slice,
    ast.Subscript,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.IfExp,
    ast.AugAssign,
    ast.Yield,
    ast.Starred,
)
ASKING = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
CODED = {"decode()": 0.6, "encode()": 0.6}
BYTES = re.compile(r"(\bbytes\b|\bb['\"])")
"""Where failures speak of bytes, the one was met where the other was meant."""
ITERATED = ("items()", "values()")
GONE_THROUGH = ("list", "sorted", "reversed", "tuple", "set")
"""What a loop may go through; the letters of a text that is made for it are never meant."""
AS_INDEX = ("abs", "str", "int", "len", "tuple")


def wrapped(site: Site) -> Iterator[Rewrite]:
    """`str(x)` for `x`, `x.strip()` for `x`, `('x',)` for `'x'`, `x.get(key, 0) or 0` where it is there and may be None."""
    yield from _among(site)
    yield from _there_and_none(site)
    yield from _before_it_is_asked(site)
    yield from _both(site)
    node = site.node
    if not _is_value(site):
        return
    code = site.source.code(node)
    match site.parent:
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right) if right is node and said(
            site.failures, CONVERTED
        ):
            start, end = site.source.span(node)
            yield Rewrite(
                (Change(start=start, end=end, text=f"({code},)"),), 1.2, f"fill in `{code[:30]}` as one value"
            )
        case _:
            pass
    iterated = isinstance(site.parent, ast.For | ast.comprehension) and site.parent.iter is node
    likely = SELDOM if isinstance(site.parent, SELDOM_IN) else 1.0
    index = isinstance(site.parent, ast.Slice | ast.Subscript)
    for name in GONE_THROUGH if iterated else AS_INDEX if index else FUNCTIONS:
        yield from site.replace(
            node, f"{name}({code})", weight=likely * FUNCTIONS[name], summary=f"use `{name}` of it"
        )
    if isinstance(site.parent, ast.Return | ast.Call | ast.keyword):
        yield from site.replace(node, f"[{code}]", weight=0.2, summary="a list of it")
    if isinstance(node, ASKING):
        for name, weight in {**METHODS, **(CODED if said(site.failures, BYTES) else {})}.items():
            if iterated or name not in ITERATED:
                factor = 2 if name in ITERATED else likely
                yield from site.replace(
                    node, f"{code}.{name}", weight=factor * weight, summary=f"use `.{name}` of it"
                )


def _before_it_is_asked(site: Site) -> Iterator[Rewrite]:
    """`x.strip().split()` for `x.split()`."""
    match site.node, site.parent:
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() as node, ast.Attribute(
            attr=asked
        ) if asked in ASKED:
            for name, weight in TIDYING.items():
                yield from site.replace(
                    node, f"{site.source.code(node)}.{name}", weight=weight, summary=f"use `.{name}` of it"
                )
        case _:
            pass


def _there_and_none(site: Site) -> Iterator[Rewrite]:
    match site.node:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[_, _, default])
            | ast.Call(func=ast.Attribute(attr="get"), args=[_, default])
        ):
            code = site.source.code(site.node)
            if not isinstance(site.parent, ast.BoolOp) and not (
                isinstance(default, ast.Constant) and default.value is None
            ):
                text = f"{code} or {site.source.code(default)}"
                yield from site.replace(
                    site.node,
                    text,
                    weight=0.5,
                    summary=f"use `{site.source.code(default)[:30]}` where it is None",
                )
        case _:
            pass


def _both(site: Site) -> Iterator[Rewrite]:
    """`a.lower() == b.lower()` for `a == b`."""
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            plain = isinstance(left, ASKING) and isinstance(right, ASKING)
            for name, weight in (("lower()", 0.25), ("strip()", 0.2)) if plain else ():
                ends = site.source.span(left)[1], site.source.span(right)[1]
                changes = tuple(Change(start=end, end=end, text=f".{name}") for end in ends)
                yield Rewrite(changes, weight, f"use `.{name}` of both")
        case _:
            pass


def _among(site: Site) -> Iterator[Rewrite]:
    """A tuple of one text instead of the text, which is a sequence of letters."""
    match site.node, site.parent:
        case ast.Constant(value=str()) as node, ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, last]
        ) if last is node:
            weight, enclosed = 0.6, site.source.text[site.source.span(node)[0] - 1] == "("
        case ast.Constant(value=str()) as node, ast.Call(args=arguments) if node in arguments:
            weight, enclosed = 0.2, False
        case _:
            return
    start, end = site.source.span(node)
    code = site.source.code(node)
    text = f"{code}," if enclosed else f"({code},)"
    yield Rewrite((Change(start=start, end=end, text=text),), weight, f"a tuple of {code[:30]}")


def unwrapped(site: Site) -> Iterator[Rewrite]:
    """`x` for `str(x)`, `x` for `x.strip()`, `x` for `-x`, `x` for `x,`."""
    match site.node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if not isinstance(
            argument, ast.Starred | ast.GeneratorExp
        ):
            yield from site.replace(
                site.node, site.source.code(argument), weight=0.35, summary=f"do not call `{name}`"
            )
        case ast.BinOp(left=left, op=ast.Mod(), right=ast.Tuple(elts=[*elements])) if isinstance(
            left, ast.Constant | ast.JoinedStr
        ):
            for element in elements:
                code = site.source.code(element)
                yield from site.replace(site.node, code, weight=0.25, summary=f"use `{code[:30]}` as it is")
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            yield from site.replace(
                site.node, site.source.code(value), weight=0.25, summary=f"do not call `{name}`"
            )
        case ast.Tuple(elts=[ast.expr() as only], ctx=ast.Load()) if not isinstance(only, ast.Starred):
            bare = not site.source.code(site.node).startswith("(")  # a comma that somebody has left there
            yield from site.replace(
                site.node, site.source.code(only), weight=0.9 if bare else 0.3, summary="no tuple of it"
            )
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            yield from site.replace(site.node, site.source.code(operand), weight=0.6, summary="drop the sign")
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() if _is_turned(site) and _is_value(
            site
        ):
            yield from site.replace(
                site.node, f"-{site.source.code(site.node)}", weight=0.25, summary="turn the sign round"
            )
        case _:
            pass


def _is_turned(site: Site) -> bool:
    """May it be meant the other way round: calculated with, given back, ordered by?"""
    ordering = isinstance(site.parent, ast.Tuple) and isinstance(
        site.source.parents.get(site.parent), ast.Lambda
    )
    return ordering or isinstance(site.parent, ast.BinOp | ast.Return | ast.Lambda)


def converted_elsewhere(site: Site) -> Iterator[Rewrite]:
    """`parse(x)` for `x` where the file makes that of an `x` at another place; the same for one that may be None."""
    node, function = site.node, site.function
    if not isinstance(node, ast.Name) or function is None or not _is_value(site):
        return
    here = visible(site.source, function)
    mine = site.source.code(site.parent) if isinstance(site.parent, ast.Call) else ""
    texts = [
        text
        for text, reads in _conversions(site.source).get(node.id, ())
        if reads <= here and text != mine and "\n" not in text
    ]
    for rank, text in enumerate(texts[:MOST]):
        what = f"use `{text[:40]}` as elsewhere"
        yield from site.replace(node, text, weight=0.45 * 0.9**rank, summary=what)
        if node.id not in ("self", "cls"):
            yield from site.replace(
                node,
                f"{text} if {node.id} is not None else None",
                weight=0.35 * 0.9**rank,
                summary=f"{what}, or None",
            )


@lru_cache(maxsize=256)
def _conversions(source: Source) -> dict[str, tuple[tuple[str, frozenset[str]], ...]]:
    """By the name of a variable the calls that are given it and nothing else, with the names that they read."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as maker, args=[ast.Name(id=name)], keywords=[]):
                if isinstance(maker, ast.Name) and maker.id in BUILTIN - {*FUNCTIONS}:
                    continue
                reads = frozenset(item.id for item in ast.walk(node) if isinstance(item, ast.Name))
                found.setdefault(name, {})[source.code(node)] = reads
            case _:
                pass
    return {name: tuple(texts.items()) for name, texts in found.items()}


def _is_value(site: Site) -> bool:
    """Is it an expression whose value is used, and nothing but a name, an access, a call or a calculation?"""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or (
        isinstance(parent, ast.Call) and parent.func is node
    ):
        return False
    if isinstance(parent, ast.For | ast.comprehension):
        return parent.iter is node
    if isinstance(parent, ast.IfExp | ast.Subscript):
        return node is not (parent.test if isinstance(parent, ast.IfExp) else parent.value)
    return isinstance(parent, USUAL_IN + SELDOM_IN) and getattr(parent, "target", None) is not node
