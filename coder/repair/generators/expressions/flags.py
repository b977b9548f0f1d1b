"""Combined flags: one too few or one too many."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import PythonSource
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, RewriteSite

FLAG = re.compile(r"(?:\w+\.)+[A-Z][A-Z0-9_]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""Matches `re.I`, `os.O_RDONLY`, `FLG_OPEN`."""
FLAG_PREFIX = re.compile(r"(?:\w+\.)+|[A-Z][A-Z0-9]*_")
"""The common prefix of flags that may be combined."""
MOST_FLAGS = 12
ADD_WEIGHT, DROP_WEIGHT, FIRST_FLAG_WEIGHT = 0.4, 0.4, 0.25


def flag(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a flag of `A_X | A_Y`; combine a single flag with another one of its kind."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.expr) or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)):
        return
    present = _flags(site.source, node)
    combined = isinstance(node, ast.BinOp)
    if not present or not (combined or isinstance(parent, ast.Call | ast.keyword | ast.Return | ast.Assign)):
        return
    others = [name for name in _combinable(site.source).get(_kind(present[0]), ()) if name not in present]
    weight = ADD_WEIGHT if combined else FIRST_FLAG_WEIGHT
    for rank, name in enumerate(others[:MOST_FLAGS]):
        new = f"{site.source.text_of(node)} | {name}"
        yield from site.replace_expression(
            node, new, weight=weight * 0.95**rank, summary=f"add the flag `{name}`"
        )
    for dropped in present if combined else ():
        remaining = " | ".join(name for name in present if name != dropped)
        yield from site.replace_expression(
            node, remaining, weight=DROP_WEIGHT, summary=f"drop the flag `{dropped}`"
        )


def _flags(source: PythonSource, node: ast.expr) -> list[str]:
    """Return the flags that an expression combines, all of one kind; empty for any other expression."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            left_flags, right_flags = _flags(source, left), _flags(source, right)
            return (
                [*left_flags, *right_flags]
                if left_flags and right_flags and _kind(left_flags[0]) == _kind(right_flags[0])
                else []
            )
        case ast.Name() | ast.Attribute() if isinstance(node.ctx, ast.Load) and FLAG.fullmatch(
            name := source.text_of(node)
        ):
            return [name]
        case _:
            return []


def _kind(name: str) -> str:
    prefix = FLAG_PREFIX.match(name)
    return prefix[0] if prefix else ""


@lru_cache(maxsize=256)
def _combinable(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return the file's flags by kind, for the kinds that it combines."""
    expressions = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr)]
    combined_kinds = {
        _kind(flags[0])
        for node in expressions
        if isinstance(node, ast.BinOp) and (flags := _flags(source, node))
    }
    occurrences = [
        name
        for node in expressions
        if isinstance(node, ast.Name | ast.Attribute)
        for name in _flags(source, node)
    ]
    names = dict.fromkeys([*occurrences, *(name for name in module_names(source) if FLAG.fullmatch(name))])
    return {kind: tuple(name for name in names if _kind(name) == kind) for kind in combined_kinds}
