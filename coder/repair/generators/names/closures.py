"""Variables of the functions around: taken too late by what is made in a loop, or given a value where that makes a new one."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import module_names, stored
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

UNBOUND = re.compile(r"local variable '(\w+)' (?:where it is not associated|referenced before assignment)")
TOLD, UNTOLD = 1.5, 0.3


def bound_late(site: Site) -> Iterator[Rewrite]:
    """`lambda i=i: i` for `lambda: i` in a loop over `i`: what is called afterwards sees the last one only."""
    node = site.node
    if (
        not isinstance(node, ast.Lambda | ast.FunctionDef)
        or node.args.kwonlyargs
        or node.args.vararg
        or node.args.kwarg
    ):
        return
    own = {argument.arg for argument in node.args.args}
    read = dict.fromkeys(
        item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    )
    looped = {
        name
        for item in site.source.around(node)
        if not isinstance(item, Function)
        for name in _gone_through(item)
    }
    late = [name for name in read if name in looped - own]
    if late:
        given = ", ".join(f"{name}={name}" for name in late)
        yield from _given(site, node, given, f"keep {', '.join(f'`{name}`' for name in late)} as it is then")


def _given(site: Site, node: ast.Lambda | ast.FunctionDef, given: str, summary: str) -> Iterator[Rewrite]:
    """The same with parameters added behind those that are there."""
    text = site.source.text
    ends = [site.source.span(argument)[1] for argument in (*node.args.args, *node.args.defaults)]
    if ends:
        change = Change(start=max(ends), end=max(ends), text=f", {given}")
    elif isinstance(node, ast.Lambda):
        start = site.source.span(node)[0] + len("lambda")
        change = Change(start=start, end=start, text=f" {given}")
    else:
        start = text.find("(", site.source.span(node)[0]) + 1
        change = Change(start=start, end=start, text=given)
    yield Rewrite((change,), 0.6, summary)


def _gone_through(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.For(target=target):
            return stored(target)
        case (
            ast.ListComp(generators=loops)
            | ast.SetComp(generators=loops)
            | ast.GeneratorExp(generators=loops)
        ):
            return tuple(name for loop in loops for name in stored(loop.target))
        case ast.DictComp(generators=loops):
            return tuple(name for loop in loops for name in stored(loop.target))
        case _:
            return ()


def outer_name(site: Site) -> Iterator[Rewrite]:
    """`global x` or `nonlocal x` in a function that gives `x` a value, and where that is meant to be the one outside of it."""
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or (function := site.function) is None
        or function.body[0] is not node
        or is_docstring(node)
    ):
        return
    told = said(site.failures, UNBOUND)
    around = [item for item in site.source.around(function) if isinstance(item, Function)]
    outer = {name for item in around for name in (*stored(item), *(given.arg for given in item.args.args))}
    for name in stored(function):
        word = "nonlocal" if name in outer else "global" if name in module_names(site.source) else ""
        if word:
            weight = TOLD if name in told else UNTOLD
            yield from site.before(
                node, [f"{word} {name}"], weight=weight, summary=f"let `{name}` be the one outside of it"
            )
