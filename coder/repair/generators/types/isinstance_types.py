"""Wrong types in isinstance and issubclass calls."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import PythonSource
from coder.repair.context.site import Rewrite, RewriteSite

RELATED_TYPES: dict[str, tuple[str, ...]] = {
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
"""Types that are often meant as well."""
SUBSCRIPT_METHODS = frozenset({"__getitem__", "__setitem__", "__delitem__"})
MAX_SIBLING_TYPES = 8


def kind(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a type: `isinstance(x, (list, tuple))` for `isinstance(x, list)`."""
    match site.node:
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Tuple(elts=type_nodes) as types]
        ):
            pass
        case ast.Call(
            func=ast.Name(id="isinstance" | "issubclass"), args=[_, ast.Name() | ast.Attribute() as types]
        ):
            type_nodes = [types]
        case _:
            return
    names = [site.source.text_of(type_node) for type_node in type_nodes]
    if names == ["int"] and isinstance(site.node, ast.Call):
        code = site.source.text_of(site.node)
        text = f"{code} and not isinstance({site.source.text_of(site.node.args[0])}, bool)"
        yield from site.replace_expression(site.node, text, weight=0.3, summary="exclude bool")
    related = [other for name in names for other in RELATED_TYPES.get(name, ())]
    if "int" in names and site.function and site.function.name in SUBSCRIPT_METHODS:
        related.insert(0, "slice")
    related += [other for type_node in type_nodes for other in _sibling_types(site.source, type_node)][
        :MAX_SIBLING_TYPES
    ]
    for other in dict.fromkeys(other for other in related if other not in names):
        yield from site.replace_expression(
            types, f"({', '.join([*names, other])})", weight=0.6, summary=f"accept {other} as well"
        )
    for dropped in names if len(names) > 1 else ():
        remaining = [name for name in names if name != dropped]
        text = remaining[0] if len(remaining) == 1 else f"({', '.join(remaining)})"
        yield from site.replace_expression(types, text, weight=0.25, summary=f"do not accept {dropped}")


def _sibling_types(source: PythonSource, type_node: ast.expr) -> tuple[str, ...]:
    """Return other names of the same module that the file uses: `ast.Store` for `ast.Load`."""
    match type_node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
            return _module_attributes(source).get(module, ())
        case _:
            return ()


@lru_cache(maxsize=256)
def _module_attributes(source: PythonSource) -> dict[str, tuple[str, ...]]:
    """Return the capitalized attributes of each module that the file uses, by module name."""
    names_by_module: dict[str, dict[str, None]] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name[0].isupper():
                names_by_module.setdefault(module, {})[source.text_of(node)] = None
            case _:
                pass
    return {module: tuple(names) for module, names in names_by_module.items()}
