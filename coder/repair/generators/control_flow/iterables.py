"""What is gone through: numbers instead of what they count, its elements instead of their places, once instead of again and again."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

NOT_TEXTS = re.compile(r"(expected str instance|expected a bytes-like object)")
A_NUMBER = re.compile(r"('int' object is not iterable)")
NO_PLACES = re.compile(r"(indices must be integers|cannot unpack non-iterable)")
TOLD, UNTOLD = 1.2, 0.3


def iterated(site: Site) -> Iterator[Rewrite]:
    """`range(n)`, `range(len(x))`, `enumerate(x)`; a list that can be gone through again; a set's order; texts of what is joined."""
    node, code = site.node, site.source.code
    match node, site.parent:
        case ast.Call(func=ast.Attribute(attr="join"), args=[given]), _ if said(site.failures, NOT_TEXTS):
            yield from _of_texts(site, given)
        case ast.Call(func=ast.Name(id="set"), args=[given]), _:
            weight = 0.5 if isinstance(site.parent, ast.For | ast.comprehension | ast.Call) else 0.25
            yield from site.replace(
                node,
                f"dict.fromkeys({code(given)})",
                weight=weight,
                summary="keep the order in which they come",
            )
        case ast.GeneratorExp(), ast.Call():
            pass
        case ast.GeneratorExp(), _:
            start, end = site.source.span(node)
            changes = Change(start=start, end=start + 1, text="["), Change(start=end - 1, end=end, text="]")
            yield Rewrite(changes, 0.4, "make a list, which can be gone through again")
        case _, ast.For(iter=gone_through) | ast.comprehension(iter=gone_through) if gone_through is node:
            yield from _counted(site, code(gone_through))
        case _:
            pass


def _of_texts(site: Site, given: ast.expr) -> Iterator[Rewrite]:
    code = site.source.code
    if isinstance(given, ast.GeneratorExp | ast.ListComp):
        yield from site.replace(given.elt, f"str({code(given.elt)})", weight=TOLD, summary="join their texts")
    else:
        yield from site.replace(given, f"map(str, {code(given)})", weight=TOLD, summary="join their texts")


def _counted(site: Site, code: str) -> Iterator[Rewrite]:
    if code.startswith(("range(", "enumerate(")):
        return
    pairs = isinstance(getattr(site.parent, "target", None), ast.Tuple)
    if said(site.failures, A_NUMBER):
        yield from site.replace(
            site.node, f"range({code})", weight=TOLD, summary=f"go through the numbers below `{code[:30]}`"
        )
    told = bool(said(site.failures, NO_PLACES))
    new, weight = f"enumerate({code})" if pairs else f"range(len({code}))", TOLD if told else UNTOLD
    if pairs or told or _is_index(site):
        yield from site.replace(
            site.node, new, weight=weight, summary=f"go through the places of `{code[:30]}`"
        )


def _is_index(site: Site) -> bool:
    """Is what a loop gives its variable the place of something in something?"""
    name = getattr(getattr(site.parent, "target", None), "id", "")
    loop = (
        site.parent if isinstance(site.parent, ast.For) else site.source.parents.get(site.parent, site.parent)
    )
    return any(
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id == name
        for node in ast.walk(loop)
    )
