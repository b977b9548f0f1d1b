"""Flags that are combined: one too few, or one too many."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import Source
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, Site

FLAG = re.compile(r"(?:\w+\.)+[A-Z][A-Z0-9_]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+")
"""`re.I`, `os.O_RDONLY`, `FLG_OPEN`."""
KIND = re.compile(r"(?:\w+\.)+|[A-Z][A-Z0-9]*_")
"""What flags that may be combined have in common."""
MOST = 12
ONE_MORE, ONE_LESS, FIRST_OF_ALL = 0.4, 0.4, 0.25


def flag(site: Site) -> Iterator[Rewrite]:
    """`A_X | A_Y | A_Z` for `A_X | A_Y`, and `A_X` for it; `A_X | A_Y` for an `A_X` that the file combines with others elsewhere."""
    node, parent = site.node, site.parent
    if not isinstance(node, ast.expr) or (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)):
        return
    given = _flags(site.source, node)
    combined = isinstance(node, ast.BinOp)
    if not given or not (combined or isinstance(parent, ast.Call | ast.keyword | ast.Return | ast.Assign)):
        return
    others = [name for name in _combinable(site.source).get(_kind(given[0]), ()) if name not in given]
    weight = ONE_MORE if combined else FIRST_OF_ALL
    for rank, name in enumerate(others[:MOST]):
        new = f"{site.source.code(node)} | {name}"
        yield from site.replace(node, new, weight=weight * 0.95**rank, summary=f"`{name}` as well")
    for dropped in given if combined else ():
        kept = " | ".join(name for name in given if name != dropped)
        yield from site.replace(node, kept, weight=ONE_LESS, summary=f"without `{dropped}`")


def _flags(source: Source, node: ast.expr) -> list[str]:
    """The flags that an expression combines, all of one kind; none where it is anything else."""
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            some, more = _flags(source, left), _flags(source, right)
            return [*some, *more] if some and more and _kind(some[0]) == _kind(more[0]) else []
        case ast.Name() | ast.Attribute() if isinstance(node.ctx, ast.Load) and FLAG.fullmatch(
            name := source.code(node)
        ):
            return [name]
        case _:
            return []


def _kind(name: str) -> str:
    found = KIND.match(name)
    return found[0] if found else ""


@lru_cache(maxsize=256)
def _combinable(source: Source) -> dict[str, tuple[str, ...]]:
    """By their kind all flags that the file knows, of the kinds that it combines."""
    expressions = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr)]
    combining = {
        _kind(found[0])
        for node in expressions
        if isinstance(node, ast.BinOp) and (found := _flags(source, node))
    }
    said = [
        name
        for node in expressions
        if isinstance(node, ast.Name | ast.Attribute)
        for name in _flags(source, node)
    ]
    names = dict.fromkeys([*said, *(name for name in module_names(source) if FLAG.fullmatch(name))])
    return {kind: tuple(name for name in names if _kind(name) == kind) for kind in combining}
