"""What a function gives back: nothing where something was meant, the wrong variable, too early."""

import ast
from collections.abc import Iterator

from coder.core.trials import Change
from coder.repair.scope import local_names
from coder.repair.site import Rewrite, Site
from coder.repair.source import Function

PLAIN = ("None", "True", "False", "[]", "0", "''")


def missing_return(site: Site) -> Iterator[Rewrite]:
    """`return` before a call whose value is dropped; the variable that was built, at the function's end."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        start, _ = site.source.span(node)
        weight = 0.7 if site.source.block(node)[-1] is node else 0.3
        yield Rewrite((Change(start=start, end=start, text="return "),), weight, "return what the call gives")
    if _ends(site.function, node) and not isinstance(node, ast.Return | ast.Raise):
        gives = any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(site.function))
        for rank, name in enumerate(reversed(local_names(site.source, node))):
            weight = (0.35 if gives else 0.7) * 0.93**rank
            yield from site.after(node, [f"return {name}"], weight=weight, summary=f"return `{name}`")


def returned_value(site: Site) -> Iterator[Rewrite]:
    """Another variable, or something plain; yield where a generator was meant."""
    node = site.node
    if not isinstance(node, ast.Return):
        return
    start, end = site.source.span(node)
    for rank, name in enumerate(local_names(site.source, node)):
        if not isinstance(node.value, ast.Name):
            yield from _give(start, end, name, 0.3 * 0.95**rank)
    for value in PLAIN:
        if node.value is None or not isinstance(node.value, ast.Constant):
            yield from _give(start, end, value, 0.12)


def _give(start: int, end: int, value: str, weight: float) -> Iterator[Rewrite]:
    yield Rewrite((Change(start=start, end=end, text=f"return {value}"),), weight, f"return `{value}`")


def _ends(function: Function, statement: ast.stmt) -> bool:
    return function.body[-1] is statement
