"""What a search lacks that does not end: an end, a look at where it has been, what it has found already."""

import ast
from collections.abc import Iterator
from itertools import product

from coder.python.source import Function, is_docstring
from coder.repair.context.endless_loops import never_ended
from coder.repair.context.scope import arguments_of, local_names
from coder.repair.context.site import Rewrite, Site

ENDS = ("not {}", "{} <= 0", "{} <= 1", "{} == 0", "{} == 1")
GIVEN = ("{}", "0", "1", "None", "[]", "True", "False")
MOST = 3


def base_case(site: Site) -> Iterator[Rewrite]:
    """Stop where nothing is left, and do not go where one has been: only what a RecursionError, or no end, was seen for."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or is_docstring(node):
        return
    yield from _kept(site, function, node)
    endless = never_ended(site.failures)
    if not endless and not any(failure.type == "RecursionError" for failure in site.failures):
        return
    calls = [
        item
        for item in ast.walk(node)
        if isinstance(item, ast.Call) and (_is_itself(item, function) or (endless and _puts_in(item)))
    ]
    yield from _not_again(site, node) if calls else ()
    if node is next((item for item in function.body if not is_docstring(item)), None):
        ways = product(arguments_of(function)[:MOST], enumerate(ENDS), enumerate(GIVEN))
        for name, (place, end), (rank, value) in ways:
            lines = [f"if {end.format(name)}:", f"    return {value.format(name)}"]
            yield from site.before(
                node, lines, weight=0.6 * 0.95**place * 0.93**rank, summary=f"stop where `{end.format(name)}`"
            )


def _not_again(site: Site, node: ast.stmt) -> Iterator[Rewrite]:
    """What is done with what a loop comes to, only where that is in none of the collections that the function knows."""
    loop, indent = site.parent, site.source.indent(node)
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.target, ast.Name)
        or indent.strip()
        or "\n" in site.source.code(node)
    ):
        return
    filled = _filled(site.function) - _filled(node)
    for rank, held in enumerate(name for name in local_names(site.source, node) if name != loop.target.id):
        text = f"if {loop.target.id} not in {held}:{site.source.line_end}{indent}    {site.source.code(node)}"
        weight = (0.9 if held in filled else 0.3) * 0.95**rank
        yield from site.replace(node, text, weight=weight, summary=f"not where it is in `{held}` already")


def _filled(node: ast.AST | None) -> set[str]:
    """What something is put into: there one may look for it."""
    calls = (
        (item.func for item in ast.walk(node) if isinstance(item, ast.Call) and _puts_in(item))
        if node
        else ()
    )
    return {
        func.value.id
        for func in calls
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
    }


def _kept(site: Site, function: Function, node: ast.stmt) -> Iterator[Rewrite]:
    """What is looked up before it is found is kept when it is: `seen[key] = value` before `return value`."""
    match node:
        case ast.Return(value=ast.Name(id=value)):
            pass
        case _:
            return
    for item in ast.walk(function):
        match item:
            case ast.Compare(
                left=key, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() | ast.Attribute() as table]
            ):
                place = f"{site.source.code(table)}[{site.source.code(key)}]"
                if f"return {place}" in site.source.code(function) and f"{place} = " not in site.source.code(
                    function
                ):
                    yield from site.before(
                        node, [f"{place} = {value}"], weight=0.8, summary=f"keep it as `{place}`"
                    )
            case _:
                pass


def _puts_in(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in (
        "add",
        "append",
        "appendleft",
        "put",
        "push",
    )


def _is_itself(call: ast.Call, function: Function) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == function.name
        case _:
            return False
