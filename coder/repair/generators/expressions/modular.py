"""Numbers that should come round again: a calendar, a clock, an alphabet, a ring."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import Source
from coder.repair.context.scope import local_names, own_attributes
from coder.repair.context.site import Rewrite, Site

USUAL = ("2", "10", "7", "12", "24", "26", "60", "256", "360")
MOST = 12


def wraparound(site: Site) -> Iterator[Rewrite]:
    """A sum or difference modulo a length, a constant of the file, or one of the usual cycles."""
    node = site.node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult)):
        return
    code = site.source.code(node)
    if any(letter in code for letter in "'\"[{\n") and not isinstance(site.parent, ast.Subscript):
        return
    for text, weight in _moduli(site)[:MOST]:
        yield from site.replace(node, f"({code}) % {text}", weight=weight, summary=f"count modulo {text}")


def _moduli(site: Site) -> list[tuple[str, float]]:
    found = {text: 0.35 for text in _lengths(site)}
    found |= {text: 0.3 for text in _constants(site.source)}
    for text in USUAL:
        found.setdefault(text, 0.15)
    return sorted(found.items(), key=lambda pair: -pair[1])


def _lengths(site: Site) -> list[str]:
    """Lengths that the function's class or the function takes already, then those of what is indexed there."""
    around = next(
        (item for item in site.source.around(site.node) if isinstance(item, ast.ClassDef)),
        site.function or site.source.tree,
    )
    taken = [
        site.source.code(node)
        for node in ast.walk(around)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    ]
    readable = {
        *local_names(site.source, site.node),
        *(f"self.{name}" for name in own_attributes(site.source, site.node)),
    }
    indexed = [
        f"len({site.source.code(node.value)})"
        for node in ast.walk(around)
        if isinstance(node, ast.Subscript) and site.source.code(node.value) in readable
    ]
    return [text for text in dict.fromkeys([*taken, *indexed]) if text[4:-1] in readable][:5]


@lru_cache(maxsize=256)
def _constants(source: Source) -> tuple[str, ...]:
    """Numbers by which the file divides, and its upper-case numbers."""
    found: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), right=ast.Constant(value=int() as number)):
                found[str(number)] = None
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int())) if name.isupper():
                found[name] = None
            case _:
                pass
    return tuple(found)[:6]
