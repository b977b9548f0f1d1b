"""Methods of other languages, an older Python, or another collection type."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNKNOWN_ATTRIBUTE, find_in_messages

PYTHON_EQUIVALENTS = {
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
LENGTH_NAMES = frozenset({"len", "length", "size", "count"})
UNCALLED_SUPER = re.compile(r"type object '(super)' has no attribute")
FOREIGN_METHOD_WEIGHT = 1.4


def vocabulary(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown method: `x.append(y)` for `x.push(y)`, `len(x)` for `x.length`."""
    unknown = find_in_messages(site.failures, UNKNOWN_ATTRIBUTE)
    code = site.source.text_of
    match site.node, site.parent:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]), _ if (
            name in LENGTH_NAMES & unknown
        ):
            yield from site.replace_expression(
                site.node,
                f"len({code(value)})",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"call `len`, not `{name}`",
            )
        case ast.Call(
            func=ast.Attribute(value=value, attr="has_key" | "contains" | "includes" as name), args=[argument]
        ), _ if name in unknown:
            yield from site.replace_expression(
                site.node,
                f"{code(argument)} in {code(value)}",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"use `in` instead of `{name}`",
            )
        case ast.Attribute(value=value, attr=name), parent if (
            name in LENGTH_NAMES & unknown and not isinstance(parent, ast.Call)
        ):
            yield from site.replace_expression(
                site.node,
                f"len({code(value)})",
                weight=FOREIGN_METHOD_WEIGHT,
                summary=f"call `len`, not `{name}`",
            )
        case ast.Attribute(attr=name) as node, ast.Call(func=callee) if callee is node and name in unknown:
            for rank, other in enumerate(PYTHON_EQUIVALENTS.get(name, ())):
                yield from site.rename_attribute(
                    node,
                    other,
                    weight=FOREIGN_METHOD_WEIGHT * 0.9**rank,
                    summary=f"call `{other}`, not `{name}`",
                )
        case ast.Name(id="super"), ast.Attribute() if find_in_messages(site.failures, UNCALLED_SUPER):
            _, end = site.source.span(site.node)
            yield Rewrite((TextChange(start=end, end=end, text="()"),), FOREIGN_METHOD_WEIGHT, "call `super`")
        case _:
            pass
