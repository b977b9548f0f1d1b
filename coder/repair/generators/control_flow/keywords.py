"""Missing and superfluous keywords: await, yield from, super()."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import arguments_of
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import ATTRIBUTE, said

COROUTINE = re.compile(r"\b(coroutine)\b")
"""Failure messages that mention a coroutine: its result was meant."""


def awaiting(site: Site) -> Iterator[Rewrite]:
    """Add or remove `await` on a call in a coroutine."""
    node = site.node
    if isinstance(node, ast.Await):
        yield from site.replace(node, site.source.code(node.value), weight=0.3, summary="do not await")
    elif (
        isinstance(node, ast.Call)
        and isinstance(site.function, ast.AsyncFunctionDef)
        and not isinstance(site.parent, ast.Await)
    ):
        weight = 1.4 if said(site.failures, COROUTINE) else 0.7
        yield from site.replace(
            node,
            f"await {site.source.code(node)}",
            weight=weight,
            summary=f"await `{site.source.code(node.func)[:40]}`",
        )


def yielding(site: Site) -> Iterator[Rewrite]:
    """Swap `yield` and `yield from`, or yield instead of returning."""
    node = site.node
    match node:
        case ast.Yield(value=ast.expr() as value):
            yield from site.replace(
                node, f"yield from {site.source.code(value)}", weight=0.6, summary="yield each element"
            )
        case ast.YieldFrom(value=value):
            yield from site.replace(
                node, f"yield {site.source.code(value)}", weight=0.6, summary="yield the whole value"
            )
        case ast.Return(value=ast.expr()):
            start, _ = site.source.span(node)
            yield Rewrite(
                (Change(start=start, end=start + len("return"), text="yield"),),
                0.2,
                "yield instead of returning",
            )
        case _:
            pass


def super_call(site: Site) -> Iterator[Rewrite]:
    """Call the same method of the parent class first, if the method of a subclass does not."""
    node, function = site.node, site.function
    owner = site.source.class_of(function)
    if (
        function is None
        or owner is None
        or not owner.bases
        or not isinstance(node, ast.stmt)
        or node not in function.body
    ):
        return
    first = next((descendant for descendant in function.body if not is_docstring(descendant)), None)
    if node is not first or any(
        isinstance(descendant, ast.Name) and descendant.id == "super" for descendant in ast.walk(function)
    ):
        return
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args][1:]]
    accepted = {
        name for parent in _parent_methods(site, owner, function.name) for name in arguments_of(parent)
    }
    for arguments in dict.fromkeys(
        [", ".join(name for name in names if name in accepted or not accepted), ", ".join(names), ""]
    ):
        call = f"super().{function.name}({arguments})"
        weight = 0.6 if function.name == "__init__" else 0.25
        weight = 1.3 if _parent_attributes(site, owner) & said(site.failures, ATTRIBUTE) else weight
        yield from site.before(node, [call], weight=weight, summary=f"call `super().{function.name}` first")


def _parent_methods(site: Site, owner: ast.ClassDef, name: str) -> list[Function]:
    """Return the methods of a name in the class's parents, as far as the file shows them."""
    parents = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    methods = [function for function in site.source.functions if function.name == name]
    return [
        method for method in methods if (class_ := site.source.class_of(method)) and class_.name in parents
    ]


def _parent_attributes(site: Site, owner: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that the parents' constructors set, as far as the file shows them."""
    constructors = _parent_methods(site, owner, "__init__")
    return frozenset(
        name
        for constructor in constructors
        for name in re.findall(r"\bself\.(\w+)(?:: [^=\n]+)? = ", site.source.code(constructor))
    )
