"""A step that is missing where nothing is done: what is not filled, not counted, not given another value."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import local_names, own_attributes
from coder.repair.context.site import Rewrite, Site

FILLED = {"list": ("append", "extend"), "deque": ("append", "appendleft"), "set": ("add", "update")}
PLAIN = ("None", "True", "False", "0", "1", "''", "[]")
MOST_NAMES = 6
IN_PLACE, AFTER = 1.0, 0.4
"""What a step is worth where `pass` stands, and behind the last statement of a loop."""


def step(site: Site) -> Iterator[Rewrite]:
    """Fill what began empty, count what began with a number, give a variable another's value."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node is function or is_docstring(node):
        return
    looping = isinstance(site.parent, ast.For | ast.While) and site.source.block(node)[-1] is node
    if not isinstance(node, ast.Pass) and not looping:
        return
    for line, weight in {
        **dict(_plain(site) if isinstance(node, ast.Pass) else ()),
        **dict(_steps(site, function)),
    }.items():
        if isinstance(node, ast.Pass):
            start, end = site.source.span(node)
            yield Rewrite((Change(start=start, end=end, text=line),), weight * IN_PLACE, f"add `{line[:50]}`")
        elif not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield from site.after(node, [line], weight=weight * AFTER, summary=f"add `{line[:50]}`")


def _steps(site: Site, function: Function) -> Iterator[tuple[str, float]]:
    names = local_names(site.source, site.node)
    values = [name for name in _nearest(site, names) if name not in ("self", "cls")][:MOST_NAMES]
    for name, kind in _begun(site, function).items():
        given = [value for value in values if value != name]
        for rank, value in enumerate(given):
            for place, method in enumerate(FILLED.get(kind, ())):
                yield f"{name}.{method}({value})", 0.5 * 0.9**rank * 0.7**place
            if kind == "dict":
                yield f"{name}[{value}] = {name}.get({value}, 0) + 1", 0.25 * 0.9**rank
                yield from (
                    (f"{name}[{value}] = {other}", 0.35 * 0.9**rank) for other in given if other != value
                )
            if kind in ("int", "float", "str"):
                yield f"{name} += {value}", 0.3 * 0.9**rank
        if kind == "int":
            yield f"{name} += 1", 0.5
            yield f"{name} -= 1", 0.35


def _plain(site: Site) -> Iterator[tuple[str, float]]:
    """A variable, or an attribute of self, given something plain or another variable."""
    names = local_names(site.source, site.node)[:MOST_NAMES]
    attributes = [f"self.{name}" for name in own_attributes(site.source, site.node)[:MOST_NAMES]]
    for name in (*names, *attributes):
        for rank, value in enumerate((*PLAIN, *names, *attributes)):
            if value != name:
                yield f"{name} = {value}", 0.25 * 0.97**rank


def _begun(site: Site, function: Function) -> dict[str, str]:
    """What the function's variables begin with, by the kind of it."""
    found: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if (
                kind := _kind(value)
            ) is not None:
                found.setdefault(site.source.code(target), kind)
            case _:
                pass
    return found


def _kind(value: ast.expr) -> str | None:
    match value:
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Constant(value=bool() | None):
            return None
        case ast.Constant(value=int() | float() | str() as constant):
            return type(constant).__name__
        case ast.Call(func=ast.Name(id="list" | "dict" | "set" | "deque" | "int" | "str" as name)):
            return name
        case _:
            return None


def _nearest(site: Site, names: tuple[str, ...]) -> list[str]:
    """Variables of the loops around a place first: what comes by is what is kept."""
    loops = [item.target for item in site.source.around(site.node) if isinstance(item, ast.For)]
    own = [node.id for target in loops for node in ast.walk(target) if isinstance(node, ast.Name)]
    return list(dict.fromkeys([*own, *names]))
