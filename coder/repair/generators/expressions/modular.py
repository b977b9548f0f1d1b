"""Missing modulo operations: calendars, clocks, alphabets, ring buffers."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import PythonSource
from coder.repair.context.scope import local_names, self_attribute_names
from coder.repair.context.site import Rewrite, RewriteSite

COMMON_MODULI = ("2", "10", "7", "12", "24", "26", "60", "256", "360")
MOST_MODULI = 12


def wraparound(site: RewriteSite) -> Iterator[Rewrite]:
    """Take a sum or difference modulo a length, a constant of the file, or a common cycle."""
    node = site.node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult)):
        return
    code = site.source.text_of(node)
    if any(letter in code for letter in "'\"[{\n") and not isinstance(site.parent, ast.Subscript):
        return
    for text, weight in _moduli(site)[:MOST_MODULI]:
        yield from site.replace_expression(
            node, f"({code}) % {text}", weight=weight, summary=f"take the result modulo {text}"
        )


def _moduli(site: RewriteSite) -> list[tuple[str, float]]:
    weights = {text: 0.35 for text in _lengths(site)}
    weights |= {text: 0.3 for text in _constants(site.source)}
    for text in COMMON_MODULI:
        weights.setdefault(text, 0.15)
    return sorted(weights.items(), key=lambda pair: -pair[1])


def _lengths(site: RewriteSite) -> list[str]:
    """Return lengths that the class or function computes already, then those of what it indexes."""
    scope = next(
        (ancestor for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.ClassDef)),
        site.function or site.source.tree,
    )
    computed = [
        site.source.text_of(node)
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    ]
    readable = {
        *local_names(site.source, site.node),
        *(f"self.{name}" for name in self_attribute_names(site.source, site.node)),
    }
    indexed = [
        f"len({site.source.text_of(node.value)})"
        for node in ast.walk(scope)
        if isinstance(node, ast.Subscript) and site.source.text_of(node.value) in readable
    ]
    return [text for text in dict.fromkeys([*computed, *indexed]) if text[4:-1] in readable][:5]


@lru_cache(maxsize=256)
def _constants(source: PythonSource) -> tuple[str, ...]:
    """Return numbers by which the file divides, and its upper-case integer constants."""
    texts: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), right=ast.Constant(value=int() as number)):
                texts[str(number)] = None
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int())) if name.isupper():
                texts[name] = None
            case _:
                pass
    return tuple(texts)[:6]
