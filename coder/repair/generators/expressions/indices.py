"""Indices in the wrong order, missing, or superfluous."""

import ast
from collections.abc import Iterator

from coder.repair.context.site import Rewrite, RewriteSite


def index_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap two indices: `grid[y][x]` for `grid[x][y]`, and `grid[y, x]` for `grid[x, y]`."""
    match site.node:
        case ast.Subscript(slice=ast.Tuple(elts=[first, second])):
            yield from site.swap_expressions(first, second, weight=0.6, summary="swap two indices")
        case ast.Subscript(value=ast.Subscript(slice=first), slice=second) if not isinstance(
            first, ast.Slice | ast.Tuple
        ):
            if not isinstance(second, ast.Slice | ast.Tuple):
                yield from site.swap_expressions(first, second, weight=0.6, summary="swap two indices")
        case _:
            pass


def element(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove an index: `x[0]` or `x[-1]` for `x`, and `x` for `x[i]`."""
    node = site.node
    match node, site.parent:
        case ast.Subscript(slice=ast.Constant() | ast.Name() | ast.UnaryOp(), ctx=ast.Load()), _:
            yield from site.replace_expression(
                node,
                site.source.text_of(node.value),
                weight=0.3,
                summary="use the whole value, not one element",
            )
        case _:
            pass
    match node, site.parent:
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()), ast.Call(args=arguments) if (
            node in arguments
        ):
            weight = 0.3 if len(arguments) == 1 else 0.2
        case ast.Name(ctx=ast.Load()) | ast.Attribute(
            ctx=ast.Load()
        ) | ast.Call(), ast.Return() | ast.Assign() | ast.Compare():
            weight = 0.2
        case _:
            return
    for index, position, likelihood in (("0", "first", 1.0), ("-1", "last", 0.8)):
        yield from site.replace_expression(
            node,
            f"{site.source.text_of(node)}[{index}]",
            weight=weight * likelihood,
            summary=f"use the {position} element",
        )
