"""Off-by-one errors: at an index, a bound, a count."""

import ast
from collections.abc import Iterator

from coder.repair.context.site import Rewrite, RewriteSite

COUNTING = frozenset({"len", "range", "enumerate", "round", "islice", "index", "find", "count", "sum"})


def boundary(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `n + 1`, `n - 1` and `n`, or change an integer literal by one."""
    node = site.node
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    yield from _count_from_one(site, node)
    likelihood = _counting_likelihood(site)
    if likelihood == 0.0:
        return
    code = site.source.text_of(node)
    match node:
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int() as value):
            for new in (
                (value + 1, value - 1) if value or not isinstance(site.parent, ast.UnaryOp) else (value + 1,)
            ):
                yield from site.replace_expression(
                    node, str(new), weight=0.85 * likelihood, summary=f"use {new} instead of {value}"
                )
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield from site.replace_expression(
                node,
                site.source.text_of(left),
                weight=0.9 * likelihood,
                summary=f"drop the `{code[len(site.source.text_of(left)) :].strip()}`",
            )
        case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() | ast.BinOp() if _may_be_count(node):
            weight = 0.7 if _is_count(node) else 0.45
            for offset in ("+ 1", "- 1"):
                yield from site.replace_expression(
                    node, f"{code} {offset}", weight=weight * likelihood, summary=f"use `{code} {offset}`"
                )


def _count_from_one(site: RewriteSite, node: ast.expr) -> Iterator[Rewrite]:
    match site.parent:
        case ast.Call(func=ast.Name(id="range"), args=[only]) if only is node:
            code = site.source.text_of(node)
            for bounds, weight in ((f"1, {code} + 1", 0.6), (f"1, {code}", 0.5)):
                yield from site.replace_expression(
                    node, bounds, weight=weight, summary=f"count from 1 in `range({bounds})`"
                )
        case _:
            pass


def _counting_likelihood(site: RewriteSite) -> float:
    """Return how likely a place is to involve counting, from 0 to 1."""
    match site.parent:
        case ast.Slice() | ast.Compare():
            return 1.0
        case ast.Subscript(slice=index):
            return 1.0 if index is site.node else 0.0
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments) if (
            site.node in arguments
        ):
            return 1.0 if name in COUNTING else 0.55
        case ast.UnaryOp(op=ast.USub()) as negative if isinstance(
            site.source.parents.get(negative), ast.Subscript
        ):
            return 0.5  # `[-1]` is seldom written for `[-2]`
        case (
            ast.BinOp(op=ast.Add() | ast.Sub() | ast.FloorDiv() | ast.Mod() | ast.Mult())
            | ast.UnaryOp(op=ast.USub())
        ):
            return 0.8
        case ast.Return() | ast.Assign() | ast.AugAssign() | ast.keyword() | ast.IfExp() | ast.Tuple():
            return 0.65
        case _:
            return 0.0


def _may_be_count(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=op):
            return isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
        case ast.Name(id=name):
            return name not in ("self", "cls", "None", "True", "False") and not name[:1].isupper()
        case _:
            return True


def _is_count(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in COUNTING
        case ast.Name(id=name):
            return len(name) == 1 or any(
                part in name
                for part in ("count", "end", "index", "last", "len", "num", "pos", "size", "start", "stop")
            )
        case ast.BinOp():
            return True
        case _:
            return False
