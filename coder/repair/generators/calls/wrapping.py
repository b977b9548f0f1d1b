"""Missing and superfluous conversions and clean-up calls."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import PythonSource
from coder.repair.context.donor_code import BUILTIN_NAMES, names_in_scope
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

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
FORMAT_ERROR = re.compile(r"(not all arguments converted|not enough arguments for format string)")
METHODS = {"strip()": 0.25, "lower()": 0.25, "upper()": 0.2, "copy()": 0.25, "items()": 0.3, "values()": 0.15}
CLEANUP_METHODS = {"strip()": 0.35, "lstrip()": 0.25, "rstrip()": 0.25, "lower()": 0.35, "upper()": 0.2}
CLEANUP_SENSITIVE_METHODS = (
    "split",
    "partition",
    "startswith",
    "endswith",
    "replace",
    "isdigit",
    "splitlines",
)
"""String methods whose result depends on surrounding white space or case."""
UNUSUAL_PARENT_FACTOR = 0.7
"""Weight factor at places where a conversion is seldom missing."""
USUAL_PARENTS = (
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
UNUSUAL_PARENTS = (
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
RECEIVER_TYPES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
CODEC_METHODS = {"decode()": 0.6, "encode()": 0.6}
BYTES_MENTION = re.compile(r"(\bbytes\b|\bb['\"])")
"""Failure messages that mention bytes: str and bytes were mixed up."""
ITERATION_METHODS = ("items()", "values()")
ITERABLE_CONVERSIONS = ("list", "sorted", "reversed", "tuple", "set")
"""Conversions of what a loop iterates over; never `str`, whose characters are not meant."""
INDEX_CONVERSIONS = ("abs", "str", "int", "len", "tuple")


def wrapped(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap an expression: `str(x)`, `x.strip()`, `('x',)` for `'x'`, `x.get(key, 0) or 0`."""
    yield from _wrap_string_in_tuple(site)
    yield from _replace_none_by_default(site)
    yield from _clean_up_before_method(site)
    yield from _normalize_both_sides(site)
    node = site.node
    if not _is_value(site):
        return
    code = site.source.text_of(node)
    match site.parent:
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right) if (
            right is node and find_in_messages(site.failures, FORMAT_ERROR)
        ):
            start, end = site.source.span(node)
            yield Rewrite(
                (TextChange(start=start, end=end, text=f"({code},)"),),
                1.2,
                f"format `{code[:30]}` as a single value",
            )
        case _:
            pass
    is_iterated = isinstance(site.parent, ast.For | ast.comprehension) and site.parent.iter is node
    position_factor = UNUSUAL_PARENT_FACTOR if isinstance(site.parent, UNUSUAL_PARENTS) else 1.0
    is_index = isinstance(site.parent, ast.Slice | ast.Subscript)
    for name in ITERABLE_CONVERSIONS if is_iterated else INDEX_CONVERSIONS if is_index else FUNCTIONS:
        yield from site.replace_expression(
            node, f"{name}({code})", weight=position_factor * FUNCTIONS[name], summary=f"apply `{name}`"
        )
    if isinstance(site.parent, ast.Return | ast.Call | ast.keyword):
        yield from site.replace_expression(node, f"[{code}]", weight=0.2, summary="wrap in a list")
    if isinstance(node, RECEIVER_TYPES):
        for name, weight in {
            **METHODS,
            **(CODEC_METHODS if find_in_messages(site.failures, BYTES_MENTION) else {}),
        }.items():
            if is_iterated or name not in ITERATION_METHODS:
                factor = 2 if name in ITERATION_METHODS else position_factor
                yield from site.replace_expression(
                    node, f"{code}.{name}", weight=factor * weight, summary=f"apply `.{name}`"
                )


def _clean_up_before_method(site: RewriteSite) -> Iterator[Rewrite]:
    """Clean up a string before a method call: `x.strip().split()` for `x.split()`."""
    match site.node, site.parent:
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() as node, ast.Attribute(
            attr=method
        ) if method in CLEANUP_SENSITIVE_METHODS:
            for name, weight in CLEANUP_METHODS.items():
                yield from site.replace_expression(
                    node, f"{site.source.text_of(node)}.{name}", weight=weight, summary=f"apply `.{name}`"
                )
        case _:
            pass


def _replace_none_by_default(site: RewriteSite) -> Iterator[Rewrite]:
    match site.node:
        case (
            ast.Call(func=ast.Name(id="getattr"), args=[_, _, default])
            | ast.Call(func=ast.Attribute(attr="get"), args=[_, default])
        ):
            code = site.source.text_of(site.node)
            if not isinstance(site.parent, ast.BoolOp) and not (
                isinstance(default, ast.Constant) and default.value is None
            ):
                text = f"{code} or {site.source.text_of(default)}"
                yield from site.replace_expression(
                    site.node,
                    text,
                    weight=0.5,
                    summary=f"fall back to `{site.source.text_of(default)[:30]}` for None",
                )
        case _:
            pass


def _normalize_both_sides(site: RewriteSite) -> Iterator[Rewrite]:
    """Normalize both sides of a comparison: `a.lower() == b.lower()` for `a == b`."""
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
            is_simple = isinstance(left, RECEIVER_TYPES) and isinstance(right, RECEIVER_TYPES)
            for name, weight in (("lower()", 0.25), ("strip()", 0.2)) if is_simple else ():
                ends = site.source.span(left)[1], site.source.span(right)[1]
                changes = tuple(TextChange(start=end, end=end, text=f".{name}") for end in ends)
                yield Rewrite(changes, weight, f"apply `.{name}` to both sides")
        case _:
            pass


def _wrap_string_in_tuple(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap a single string in a tuple, since a string is a sequence of characters."""
    match site.node, site.parent:
        case ast.Constant(value=str()) as node, ast.Compare(
            ops=[*_, ast.In() | ast.NotIn()], comparators=[*_, last]
        ) if last is node:
            weight, is_parenthesized = 0.6, site.source.text[site.source.span(node)[0] - 1] == "("
        case ast.Constant(value=str()) as node, ast.Call(args=arguments) if node in arguments:
            weight, is_parenthesized = 0.2, False
        case _:
            return
    start, end = site.source.span(node)
    code = site.source.text_of(node)
    text = f"{code}," if is_parenthesized else f"({code},)"
    yield Rewrite((TextChange(start=start, end=end, text=text),), weight, f"wrap {code[:30]} in a tuple")


def unwrapped(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove a conversion: `x` for `str(x)`, `x.strip()`, `-x` or `x,`."""
    match site.node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if not isinstance(
            argument, ast.Starred | ast.GeneratorExp
        ):
            yield from site.replace_expression(
                site.node, site.source.text_of(argument), weight=0.35, summary=f"do not call `{name}`"
            )
        case ast.BinOp(left=left, op=ast.Mod(), right=ast.Tuple(elts=[*elements])) if isinstance(
            left, ast.Constant | ast.JoinedStr
        ):
            for element in elements:
                code = site.source.text_of(element)
                yield from site.replace_expression(
                    site.node, code, weight=0.25, summary=f"use `{code[:30]}` without formatting"
                )
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            yield from site.replace_expression(
                site.node, site.source.text_of(value), weight=0.25, summary=f"do not call `{name}`"
            )
        case ast.Tuple(elts=[ast.expr() as only], ctx=ast.Load()) if not isinstance(only, ast.Starred):
            is_bare = not site.source.text_of(site.node).startswith("(")  # a stray trailing comma
            yield from site.replace_expression(
                site.node,
                site.source.text_of(only),
                weight=0.9 if is_bare else 0.3,
                summary="unwrap the tuple",
            )
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            yield from site.replace_expression(
                site.node, site.source.text_of(operand), weight=0.6, summary="drop the sign"
            )
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() if _may_be_negated(
            site
        ) and _is_value(site):
            yield from site.replace_expression(
                site.node, f"-{site.source.text_of(site.node)}", weight=0.25, summary="flip the sign"
            )
        case _:
            pass


def _may_be_negated(site: RewriteSite) -> bool:
    """Tell whether an expression may need a minus sign: an operand, a return value or a sort key."""
    is_sort_key = isinstance(site.parent, ast.Tuple) and isinstance(
        site.source.parents.get(site.parent), ast.Lambda
    )
    return is_sort_key or isinstance(site.parent, ast.BinOp | ast.Return | ast.Lambda)


def converted_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Apply a call to `x` that the file applies to an `x` elsewhere; also with a test for None."""
    node, function = site.node, site.function
    if not isinstance(node, ast.Name) or function is None or not _is_value(site):
        return
    visible_names = names_in_scope(site.source, function)
    own_text = site.source.text_of(site.parent) if isinstance(site.parent, ast.Call) else ""
    texts = [
        text
        for text, reads in _conversions(site.source).get(node.id, ())
        if reads <= visible_names and text != own_text and "\n" not in text
    ]
    for rank, text in enumerate(texts[:MOST]):
        summary = f"use `{text[:40]}` as elsewhere"
        yield from site.replace_expression(node, text, weight=0.45 * 0.9**rank, summary=summary)
        if node.id not in ("self", "cls"):
            yield from site.replace_expression(
                node,
                f"{text} if {node.id} is not None else None",
                weight=0.35 * 0.9**rank,
                summary=f"{summary}, or None",
            )


@lru_cache(maxsize=256)
def _conversions(source: PythonSource) -> dict[str, tuple[tuple[str, frozenset[str]], ...]]:
    """Return the calls whose only argument is a variable, by its name, with the names that they read."""
    calls_by_name: dict[str, dict[str, frozenset[str]]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as maker, args=[ast.Name(id=name)], keywords=[]):
                if isinstance(maker, ast.Name) and maker.id in BUILTIN_NAMES - {*FUNCTIONS}:
                    continue
                reads = frozenset(
                    descendant.id for descendant in ast.walk(node) if isinstance(descendant, ast.Name)
                )
                calls_by_name.setdefault(name, {})[source.text_of(node)] = reads
            case _:
                pass
    return {name: tuple(texts.items()) for name, texts in calls_by_name.items()}


def _is_value(site: RewriteSite) -> bool:
    """Tell whether a node is a name, an access, a call or a calculation whose value is used."""
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
    return isinstance(parent, USUAL_PARENTS + UNUSUAL_PARENTS) and getattr(parent, "target", None) is not node
