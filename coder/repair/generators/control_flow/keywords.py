"""A keyword that is missing or too many: await, yield from, super()."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import arguments_of
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import ATTRIBUTE, said

COROUTINE = re.compile(r"\b(coroutine)\b")
"""What was met where its result was meant."""


def awaiting(site: Site) -> Iterator[Rewrite]:
    """`await` before a call in a coroutine, or without it."""
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
    """`yield from` for `yield`, `yield` for `return`, and the other way round."""
    node = site.node
    match node:
        case ast.Yield(value=ast.expr() as value):
            yield from site.replace(
                node, f"yield from {site.source.code(value)}", weight=0.6, summary="yield each element"
            )
        case ast.YieldFrom(value=value):
            yield from site.replace(
                node, f"yield {site.source.code(value)}", weight=0.6, summary="yield it as one"
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
    """The same method of the parent class, called first, where a method of a subclass does not."""
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
    first = next((item for item in function.body if not is_docstring(item)), None)
    if node is not first or any(
        isinstance(item, ast.Name) and item.id == "super" for item in ast.walk(function)
    ):
        return
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args][1:]]
    taken = {name for parent in _of_parents(site, owner, function.name) for name in arguments_of(parent)}
    for given in dict.fromkeys(
        [", ".join(name for name in names if name in taken or not taken), ", ".join(names), ""]
    ):
        call = f"super().{function.name}({given})"
        weight = 0.6 if function.name == "__init__" else 0.25
        weight = 1.3 if _sets(site, owner) & said(site.failures, ATTRIBUTE) else weight
        yield from site.before(node, [call], weight=weight, summary=f"call `super().{function.name}` first")


def _of_parents(site: Site, owner: ast.ClassDef, name: str) -> list[Function]:
    """The methods of a name that a class's parents have, as far as the file shows them."""
    parents = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    found = [function for function in site.source.functions if function.name == name]
    return [item for item in found if (kept := site.source.class_of(item)) and kept.name in parents]


def _sets(site: Site, owner: ast.ClassDef) -> frozenset[str]:
    """The attributes that the constructors of a class's parents set, as far as the file shows them."""
    own = _of_parents(site, owner, "__init__")
    return frozenset(
        name for item in own for name in re.findall(r"\bself\.(\w+)(?:: [^=\n]+)? = ", site.source.code(item))
    )
