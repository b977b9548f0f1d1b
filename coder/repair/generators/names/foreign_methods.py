"""Methods of other languages, an older Python, or another collection type."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import ATTRIBUTE, said

METHODS = {
    "push": ("append",),
    "add": ("append",),
    "append": ("add", "appendleft"),
    "push_back": ("append",),
    "addAll": ("extend", "update"),
    "concat": ("extend",),
    "iteritems": ("items",),
    "itervalues": ("values",),
    "iterkeys": ("keys",),
    "trim": ("strip",),
    "toLowerCase": ("lower",),
    "toUpperCase": ("upper",),
    "startsWith": ("startswith",),
    "endsWith": ("endswith",),
    "indexOf": ("find", "index"),
    "next": ("__next__",),
    "sub": ("replace",),
    "seconds": ("total_seconds",),
}
LENGTH = frozenset({"len", "length", "size", "count"})
SUPER = re.compile(r"type object '(super)' has no attribute")
TOLD = 1.4


def vocabulary(site: Site) -> Iterator[Rewrite]:
    """Replace an unknown method: `x.append(y)` for `x.push(y)`, `len(x)` for `x.length`."""
    unknown = said(site.failures, ATTRIBUTE)
    code = site.source.code
    match site.node, site.parent:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]), _ if name in LENGTH & unknown:
            yield from site.replace(
                site.node, f"len({code(value)})", weight=TOLD, summary=f"call `len`, not `{name}`"
            )
        case ast.Call(
            func=ast.Attribute(value=value, attr="has_key" | "contains" | "includes" as name), args=[argument]
        ), _ if name in unknown:
            yield from site.replace(
                site.node,
                f"{code(argument)} in {code(value)}",
                weight=TOLD,
                summary=f"use `in` instead of `{name}`",
            )
        case ast.Attribute(value=value, attr=name), parent if name in LENGTH & unknown and not isinstance(
            parent, ast.Call
        ):
            yield from site.replace(
                site.node, f"len({code(value)})", weight=TOLD, summary=f"call `len`, not `{name}`"
            )
        case ast.Attribute(attr=name) as node, ast.Call(func=callee) if callee is node and name in unknown:
            for rank, other in enumerate(METHODS.get(name, ())):
                yield from site.rename(
                    node, other, weight=TOLD * 0.9**rank, summary=f"call `{other}`, not `{name}`"
                )
        case ast.Name(id="super"), ast.Attribute() if said(site.failures, SUPER):
            _, end = site.source.span(site.node)
            yield Rewrite((Change(start=end, end=end, text="()"),), TOLD, "call `super`")
        case _:
            pass
