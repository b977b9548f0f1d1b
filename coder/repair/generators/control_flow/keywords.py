"""Missing and superfluous keywords: await, yield from, super()."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function, is_docstring
from coder.repair.context.scope import parameter_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNKNOWN_ATTRIBUTE, find_in_messages

COROUTINE_MENTION = re.compile(r"\b(coroutine)\b")
"""Failure messages that mention a coroutine: its result was meant."""


def awaiting(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove `await` on a call in a coroutine."""
    node = site.node
    if isinstance(node, ast.Await):
        yield from site.replace_expression(
            node, site.source.text_of(node.value), weight=0.3, summary="do not await"
        )
    elif (
        isinstance(node, ast.Call)
        and isinstance(site.function, ast.AsyncFunctionDef)
        and not isinstance(site.parent, ast.Await)
    ):
        weight = 1.4 if find_in_messages(site.failures, COROUTINE_MENTION) else 0.7
        yield from site.replace_expression(
            node,
            f"await {site.source.text_of(node)}",
            weight=weight,
            summary=f"await `{site.source.text_of(node.func)[:40]}`",
        )


def yielding(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `yield` and `yield from`, or yield instead of returning."""
    node = site.node
    match node:
        case ast.Yield(value=ast.expr() as value):
            yield from site.replace_expression(
                node, f"yield from {site.source.text_of(value)}", weight=0.6, summary="yield each element"
            )
        case ast.YieldFrom(value=value):
            yield from site.replace_expression(
                node, f"yield {site.source.text_of(value)}", weight=0.6, summary="yield the whole value"
            )
        case ast.Return(value=ast.expr()):
            start, _ = site.source.span(node)
            yield Rewrite(
                (TextChange(start=start, end=start + len("return"), text="yield"),),
                0.2,
                "yield instead of returning",
            )
        case _:
            pass


def super_call(site: RewriteSite) -> Iterator[Rewrite]:
    """Call the same method of the parent class first, if the method of a subclass does not."""
    node, function = site.node, site.function
    owner = site.source.owner_class(function)
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
        name for parent in _parent_methods(site, owner, function.name) for name in parameter_names(parent)
    }
    for arguments in dict.fromkeys(
        [", ".join(name for name in names if name in accepted or not accepted), ", ".join(names), ""]
    ):
        call = f"super().{function.name}({arguments})"
        weight = 0.6 if function.name == "__init__" else 0.25
        weight = (
            1.3
            if _parent_attributes(site, owner) & find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
            else weight
        )
        yield from site.insert_before(
            node, [call], weight=weight, summary=f"call `super().{function.name}` first"
        )


def _parent_methods(site: RewriteSite, owner: ast.ClassDef, name: str) -> list[Function]:
    """Return the methods of a name in the class's parents, as far as the file shows them."""
    parents = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    methods = [function for function in site.source.functions if function.name == name]
    return [
        method for method in methods if (class_ := site.source.owner_class(method)) and class_.name in parents
    ]


def _parent_attributes(site: RewriteSite, owner: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that the parents' constructors set, as far as the file shows them."""
    constructors = _parent_methods(site, owner, "__init__")
    return frozenset(
        name
        for constructor in constructors
        for name in re.findall(r"\bself\.(\w+)(?:: [^=\n]+)? = ", site.source.text_of(constructor))
    )
