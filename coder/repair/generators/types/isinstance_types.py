"""The types that something is asked to be one of."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import Source
from coder.repair.context.site import Rewrite, Site

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
SUBSCRIPTING = frozenset({"__getitem__", "__setitem__", "__delitem__"})
MOST_BESIDE = 8


def kind(site: Site) -> Iterator[Rewrite]:
    """`isinstance(x, (list, tuple))` for `isinstance(x, list)`, and one type more or less in a tuple of them."""
    match site.node:
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Tuple(elts=asked) as types]
        ):
            pass
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Name() | ast.Attribute() as types]
        ):
            asked = [types]
        case _:
            return
    names = [site.source.code(item) for item in asked]
    if names == ["int"] and isinstance(site.node, ast.Call):
        code = site.source.code(site.node)
        text = f"{code} and not isinstance({site.source.code(site.node.args[0])}, bool)"
        yield from site.replace(site.node, text, weight=0.3, summary="let it be no bool")
    kin = [other for name in names for other in KIN.get(name, ())]
    if "int" in names and site.function and site.function.name in SUBSCRIPTING:
        kin.insert(0, "slice")
    kin += [other for item in asked for other in _beside(site.source, item)][:MOST_BESIDE]
    for other in dict.fromkeys(other for other in kin if other not in names):
        yield from site.replace(
            types, f"({', '.join([*names, other])})", weight=0.6, summary=f"let it be {other} as well"
        )
    for dropped in names if len(names) > 1 else ():
        kept = [name for name in names if name != dropped]
        text = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        yield from site.replace(types, text, weight=0.25, summary=f"do not let it be {dropped}")


def _beside(source: Source, one: ast.expr) -> tuple[str, ...]:
    """What else the file knows by such a name of the same module: `ast.Store` beside `ast.Load`."""
    match one:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
            return _members(source).get(module, ())
        case _:
            return ()


@lru_cache(maxsize=256)
def _members(source: Source) -> dict[str, tuple[str, ...]]:
    """By the name of a module what the file calls it with a capital letter after the dot."""
    found: dict[str, dict[str, None]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
                found.setdefault(module, {})[source.code(node)] = None
            case _:
                pass
    return {module: tuple(names) for module, names in found.items()}
