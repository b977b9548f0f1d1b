"""A conversion or a clean-up call that is missing, or one too many."""

import ast
from collections.abc import Iterator

from coder.repair.site import Rewrite, Site

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
}
METHODS = {"strip()": 0.25, "lower()": 0.25, "copy()": 0.25, "items()": 0.3, "values()": 0.15}
ITERATED = ("items()", "values()")


def wrapped(site: Site) -> Iterator[Rewrite]:
    """`str(x)` for `x`, `x.strip()` for `x`."""
    node = site.node
    if not _is_value(site):
        return
    code = site.source.code(node)
    for name, weight in FUNCTIONS.items():
        yield from site.replace(node, f"{name}({code})", weight=weight, summary=f"use `{name}` of it")
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        iterated = isinstance(site.parent, ast.For | ast.comprehension)
        for name, weight in METHODS.items():
            if iterated or name not in ITERATED:
                yield from site.replace(
                    node, f"{code}.{name}", weight=weight * (2 if iterated and name in ITERATED else 1), summary=f"use `.{name}` of it"
                )


def unwrapped(site: Site) -> Iterator[Rewrite]:
    """`x` for `str(x)`, `x` for `x.strip()`, `x` for `-x`."""
    match site.node:
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if not isinstance(argument, ast.Starred | ast.GeneratorExp):
            yield from site.replace(site.node, site.source.code(argument), weight=0.35, summary=f"do not call `{name}`")
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            yield from site.replace(site.node, site.source.code(value), weight=0.25, summary=f"do not call `{name}`")
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand):
            yield from site.replace(site.node, site.source.code(operand), weight=0.6, summary="drop the sign")
        case ast.Name() | ast.Attribute() | ast.Call() if isinstance(site.parent, ast.BinOp | ast.Return) and _is_value(site):
            yield from site.replace(site.node, f"-{site.source.code(site.node)}", weight=0.25, summary="turn the sign round")
        case _:
            pass


def _is_value(site: Site) -> bool:
    """Is it an expression whose value is used, and nothing but a name, an access, a call or a calculation?"""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.BinOp):
        return False
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or (isinstance(parent, ast.Call) and parent.func is node):
        return False
    if isinstance(parent, ast.For | ast.comprehension):
        return parent.iter is node
    return isinstance(parent, ast.Call | ast.Return | ast.Assign | ast.keyword | ast.BinOp | ast.Compare | ast.Tuple | ast.FormattedValue)
