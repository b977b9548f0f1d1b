"""Late binding of loop variables, and assignments to outer variables that create local ones."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import assigned_names, module_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

UNBOUND_LOCAL = re.compile(
    r"local variable '(\w+)' (?:where it is not associated|referenced before assignment)"
)
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.5, 0.3


def bound_late(site: RewriteSite) -> Iterator[Rewrite]:
    """Bind a loop variable early: `lambda i=i: i` for `lambda: i` in a loop over `i`."""
    node = site.node
    if (
        not isinstance(node, ast.Lambda | ast.FunctionDef)
        or node.args.kwonlyargs
        or node.args.vararg
        or node.args.kwarg
    ):
        return
    parameters = {argument.arg for argument in node.args.args}
    read = dict.fromkeys(
        ancestor.id
        for ancestor in ast.walk(node)
        if isinstance(ancestor, ast.Name) and isinstance(ancestor.ctx, ast.Load)
    )
    loop_variables = {
        name
        for ancestor in site.source.ancestors(node)
        if not isinstance(ancestor, Function)
        for name in _loop_variables(ancestor)
    }
    late = [name for name in read if name in loop_variables - parameters]
    if late:
        defaults = ", ".join(f"{name}={name}" for name in late)
        yield from _add_parameters(
            site, node, defaults, f"bind {', '.join(f'`{name}`' for name in late)} early"
        )


def _add_parameters(
    site: RewriteSite, node: ast.Lambda | ast.FunctionDef, parameters: str, summary: str
) -> Iterator[Rewrite]:
    """Add parameters after the existing ones."""
    text = site.source.text
    ends = [site.source.span(argument)[1] for argument in (*node.args.args, *node.args.defaults)]
    if ends:
        change = TextChange(start=max(ends), end=max(ends), text=f", {parameters}")
    elif isinstance(node, ast.Lambda):
        start = site.source.span(node)[0] + len("lambda")
        change = TextChange(start=start, end=start, text=f" {parameters}")
    else:
        start = text.find("(", site.source.span(node)[0]) + 1
        change = TextChange(start=start, end=start, text=parameters)
    yield Rewrite((change,), 0.6, summary)


def _loop_variables(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.For(target=target):
            return assigned_names(target)
        case (
            ast.ListComp(generators=loops)
            | ast.SetComp(generators=loops)
            | ast.GeneratorExp(generators=loops)
        ):
            return tuple(name for loop in loops for name in assigned_names(loop.target))
        case ast.DictComp(generators=loops):
            return tuple(name for loop in loops for name in assigned_names(loop.target))
        case _:
            return ()


def outer_name(site: RewriteSite) -> Iterator[Rewrite]:
    """Declare a variable `global` or `nonlocal` in a function that assigns to it."""
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or (function := site.function) is None
        or function.body[0] is not node
        or is_docstring(node)
    ):
        return
    unbound = find_in_messages(site.failures, UNBOUND_LOCAL)
    enclosing = [
        outer_function
        for outer_function in site.source.ancestors(function)
        if isinstance(outer_function, Function)
    ]
    outer = {
        name
        for outer_function in enclosing
        for name in (
            *assigned_names(outer_function),
            *(argument.arg for argument in outer_function.args.args),
        )
    }
    for name in assigned_names(function):
        keyword = "nonlocal" if name in outer else "global" if name in module_names(site.source) else ""
        if keyword:
            weight = WEIGHT_WITH_EVIDENCE if name in unbound else WEIGHT_WITHOUT_EVIDENCE
            yield from site.insert_before(
                node, [f"{keyword} {name}"], weight=weight, summary=f"declare `{name}` {keyword}"
            )
