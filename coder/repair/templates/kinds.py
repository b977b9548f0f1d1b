"""The types that something is asked to be one of."""

import ast
from collections.abc import Iterator

from coder.repair.site import Rewrite, Site

KIN: dict[str, tuple[str, ...]] = {
    "list": ("tuple", "set"),
    "tuple": ("list",),
    "set": ("frozenset",),
    "frozenset": ("set",),
    "str": ("bytes",),
    "bytes": ("bytearray", "str"),
    "int": ("float",),
    "float": ("int",),
    "dict": ("list",),
}
"""What is often meant as well."""


def kind(site: Site) -> Iterator[Rewrite]:
    """`isinstance(x, (list, tuple))` for `isinstance(x, list)`, and one type more or less in a tuple of them."""
    match site.node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Tuple(elts=asked) as types]):
            pass
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Name() as types]):
            asked = [types]
        case _:
            return
    names = [site.source.code(one) for one in asked]
    for other in dict.fromkeys(other for name in names for other in KIN.get(name, ()) if other not in names):
        yield from site.replace(types, f"({', '.join([*names, other])})", weight=0.6, summary=f"let it be {other} as well")
    for dropped in names if len(names) > 1 else ():
        kept = [name for name in names if name != dropped]
        text = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        yield from site.replace(types, text, weight=0.25, summary=f"do not let it be {dropped}")
