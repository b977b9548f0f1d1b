"""Missing base cases, visited checks and memoization in recursive searches."""

import ast
from collections.abc import Iterator
from itertools import product

from coder.python.source import Function, is_docstring
from coder.repair.context.endless_loops import has_timeout
from coder.repair.context.scope import local_names, parameter_names
from coder.repair.context.site import Rewrite, RewriteSite

BASE_CONDITIONS = ("not {}", "{} <= 0", "{} <= 1", "{} == 0", "{} == 1")
BASE_RESULTS = ("{}", "0", "1", "None", "[]", "True", "False")
MOST_PARAMETERS = 3


def base_case(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a base case or a visited check after a RecursionError or a timeout, or memoize."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.stmt) or is_docstring(node):
        return
    yield from _memoize(site, function, node)
    timed_out = has_timeout(site.failures)
    if not timed_out and not any(failure.type == "RecursionError" for failure in site.failures):
        return
    calls = [
        descendant
        for descendant in ast.walk(node)
        if isinstance(descendant, ast.Call)
        and (_is_recursive_call(descendant, function) or (timed_out and _adds_element(descendant)))
    ]
    yield from _skip_visited(site, node) if calls else ()
    if node is next((descendant for descendant in function.body if not is_docstring(descendant)), None):
        guards = product(
            parameter_names(function)[:MOST_PARAMETERS], enumerate(BASE_CONDITIONS), enumerate(BASE_RESULTS)
        )
        for name, (place, end), (rank, value) in guards:
            lines = [f"if {end.format(name)}:", f"    return {value.format(name)}"]
            yield from site.insert_before(
                node,
                lines,
                weight=0.6 * 0.95**place * 0.93**rank,
                summary=f"return early if `{end.format(name)}`",
            )


def _skip_visited(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Guard a statement in a loop with a test that the loop variable is not in a known collection."""
    loop, indent = site.parent, site.source.indent(node)
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.target, ast.Name)
        or indent.strip()
        or "\n" in site.source.text_of(node)
    ):
        return
    collections = _filled_collections(site.function) - _filled_collections(node)
    for rank, collection in enumerate(
        name for name in local_names(site.source, node) if name != loop.target.id
    ):
        text = (
            f"if {loop.target.id} not in {collection}:{site.source.line_end}"
            f"{indent}    {site.source.text_of(node)}"
        )
        weight = (0.9 if collection in collections else 0.3) * 0.95**rank
        yield from site.replace_expression(
            node, text, weight=weight, summary=f"skip what is already in `{collection}`"
        )


def _filled_collections(node: ast.AST | None) -> set[str]:
    """Return the names of collections that are added to."""
    calls = (
        (
            descendant.func
            for descendant in ast.walk(node)
            if isinstance(descendant, ast.Call) and _adds_element(descendant)
        )
        if node
        else ()
    )
    return {
        func.value.id
        for func in calls
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
    }


def _memoize(site: RewriteSite, function: Function, node: ast.stmt) -> Iterator[Rewrite]:
    """Store a result that is looked up before: `seen[key] = value` before `return value`."""
    match node:
        case ast.Return(value=ast.Name(id=value)):
            pass
        case _:
            return
    for descendant in ast.walk(function):
        match descendant:
            case ast.Compare(
                left=key, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() | ast.Attribute() as table]
            ):
                entry = f"{site.source.text_of(table)}[{site.source.text_of(key)}]"
                if f"return {entry}" in site.source.text_of(
                    function
                ) and f"{entry} = " not in site.source.text_of(function):
                    yield from site.insert_before(
                        node, [f"{entry} = {value}"], weight=0.8, summary=f"store the result in `{entry}`"
                    )
            case _:
                pass


def _adds_element(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in (
        "add",
        "append",
        "appendleft",
        "put",
        "push",
    )


def _is_recursive_call(call: ast.Call, function: Function) -> bool:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name == function.name
        case _:
            return False
