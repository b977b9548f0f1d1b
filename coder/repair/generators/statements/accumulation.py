"""Missing steps: filling a collection, incrementing a counter, updating a variable."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import local_names, self_attribute_names
from coder.repair.context.site import Rewrite, RewriteSite

ADDING_METHODS = {"list": ("append", "extend"), "deque": ("append", "appendleft"), "set": ("add", "update")}
INITIAL_VALUES = ("None", "True", "False", "0", "1", "''", "[]")
MOST_NAMES = 6
PASS_FACTOR, LOOP_END_FACTOR = 1.0, 0.4
"""Weight factors of a step in place of `pass`, and after the last statement of a loop."""


def step(site: RewriteSite) -> Iterator[Rewrite]:
    """Fill an empty collection, increment a counter, or assign another variable's value."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or node is function or is_docstring(node):
        return
    is_last_in_loop = (
        isinstance(site.parent, ast.For | ast.While) and site.source.enclosing_block(node)[-1] is node
    )
    if not isinstance(node, ast.Pass) and not is_last_in_loop:
        return
    for line, weight in {
        **dict(_simple_assignments(site) if isinstance(node, ast.Pass) else ()),
        **dict(_steps(site, function)),
    }.items():
        if isinstance(node, ast.Pass):
            start, end = site.source.span(node)
            yield Rewrite(
                (TextChange(start=start, end=end, text=line),), weight * PASS_FACTOR, f"add `{line[:50]}`"
            )
        elif not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            yield from site.insert_after(
                node, [line], weight=weight * LOOP_END_FACTOR, summary=f"add `{line[:50]}`"
            )


def _steps(site: RewriteSite, function: Function) -> Iterator[tuple[str, float]]:
    names = local_names(site.source, site.node)
    values = [name for name in _loop_variables_first(site, names) if name not in ("self", "cls")][:MOST_NAMES]
    for name, kind in _initial_types(site, function).items():
        other_values = [value for value in values if value != name]
        for rank, value in enumerate(other_values):
            for method_rank, method in enumerate(ADDING_METHODS.get(kind, ())):
                yield f"{name}.{method}({value})", 0.5 * 0.9**rank * 0.7**method_rank
            if kind == "dict":
                yield f"{name}[{value}] = {name}.get({value}, 0) + 1", 0.25 * 0.9**rank
                yield from (
                    (f"{name}[{value}] = {other}", 0.35 * 0.9**rank)
                    for other in other_values
                    if other != value
                )
            if kind in ("int", "float", "str"):
                yield f"{name} += {value}", 0.3 * 0.9**rank
        if kind == "int":
            yield f"{name} += 1", 0.5
            yield f"{name} -= 1", 0.35


def _simple_assignments(site: RewriteSite) -> Iterator[tuple[str, float]]:
    """Yield assignments of a constant or another name to a variable or an attribute of self."""
    names = local_names(site.source, site.node)[:MOST_NAMES]
    attributes = [f"self.{name}" for name in self_attribute_names(site.source, site.node)[:MOST_NAMES]]
    for name in (*names, *attributes):
        for rank, value in enumerate((*INITIAL_VALUES, *names, *attributes)):
            if value != name:
                yield f"{name} = {value}", 0.25 * 0.97**rank


def _initial_types(site: RewriteSite, function: Function) -> dict[str, str]:
    """Return the type name of each variable's first value."""
    types: dict[str, str] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if (
                kind := _type_name(value)
            ) is not None:
                types.setdefault(site.source.text_of(target), kind)
            case _:
                pass
    return types


def _type_name(value: ast.expr) -> str | None:
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


def _loop_variables_first(site: RewriteSite, names: tuple[str, ...]) -> list[str]:
    """Return the variables, those of enclosing loops first: they are the likeliest values to store."""
    loops = [
        ancestor.target for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.For)
    ]
    loop_variables = [node.id for target in loops for node in ast.walk(target) if isinstance(node, ast.Name)]
    return list(dict.fromkeys([*loop_variables, *names]))
