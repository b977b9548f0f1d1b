"""Expressions like the one that is there: other conditions, other calls, other parts of the same file."""

import ast
from bisect import bisect
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

from coder.python.parsing import expression
from coder.python.source import Source
from coder.repair.context.donor_code import bound, conditions, nearness, visible
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.expressions.negation import is_condition

MOST = 12
MOST_EXPRESSIONS = 6
LEAST_ALIKE = 0.6
COMPARED = 50
"""So many expressions before the one that is there, and after it, are compared with it: a table holds thousands."""
COPIED = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.Attribute)


def other_condition(site: Site) -> Iterator[Rewrite]:
    """A condition that the file asks for elsewhere: instead of this one, as well as it, or as an alternative to it."""
    node = site.node
    if (
        not is_condition(site.source, node)
        or isinstance(site.parent, ast.BoolOp | ast.Return)
        or not isinstance(node, ast.expr)
    ):
        return
    function = site.function
    here = visible(site.source, function)
    code = site.source.code(node)
    mine = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr) else code
    found: dict[str, float] = {}
    for piece in conditions(site.source):
        if piece.names <= here and piece.text not in (code, mine) and "\n" not in piece.text:
            near = nearness(piece, function, site.source.class_of(function))
            found[piece.text] = max(
                found.get(piece.text, 0.0), near * (1.0 if piece.names & _read(node) else 0.6)
            )
    for other in sorted(found, key=lambda text: (-found[text], text))[:MOST]:
        weight, theirs = found[other], _bracketed(other)
        yield from site.replace(node, other, weight=0.3 * weight, summary=f"ask whether `{other[:40]}`")
        for new, rank in (
            (f"{mine} and {theirs}", 0.33),
            (f"{theirs} or {mine}", 0.31),
            (f"{theirs} and {mine}", 0.3),
            (f"{mine} or {theirs}", 0.3),
        ):
            yield from site.replace(
                node, new, weight=rank * weight, summary=f"ask whether `{other[:40]}` as well"
            )


def similar(site: Site) -> Iterator[Rewrite]:
    """An expression of the same kind that stands elsewhere in the file and is nearly the same."""
    node = site.node
    if not isinstance(node, COPIED) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    code = site.source.code(node)
    if not 6 <= len(code) <= 100 or (isinstance(site.parent, ast.Call) and site.parent.func is node):
        return
    here = visible(site.source, site.function)
    scored: dict[str, float] = {}
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(code)
    lines, texts = _expressions(site.source)[type(node)]
    place = bisect(lines, getattr(node, "lineno", 0))
    for text, names in texts[max(0, place - COMPARED) : place + COMPARED]:
        if text != code and names <= here and abs(len(text) - len(code)) <= 0.5 * len(code):
            matcher.set_seq1(text)
            least = (
                nlargest(MOST_EXPRESSIONS, scored.values())[-1]
                if len(scored) >= MOST_EXPRESSIONS
                else LEAST_ALIKE
            )
            if matcher.quick_ratio() >= least and (alike := matcher.ratio()) >= least:
                scored[text] = alike
    for text in sorted(scored, key=lambda text: (-scored[text], text))[:MOST_EXPRESSIONS]:
        yield from site.replace(
            node, text, weight=0.4 * scored[text], summary=f"use `{text[:40]}` as elsewhere"
        )


@lru_cache(maxsize=256)
def _expressions(source: Source) -> dict[type[ast.AST], tuple[list[int], list[tuple[str, frozenset[str]]]]]:
    """By kind, the lines in which the file's expressions stand first, and their texts with the names of their functions that they read."""
    found: dict[type[ast.AST], dict[str, ast.expr]] = {kind: {} for kind in COPIED}
    for node in ast.walk(source.tree):
        if (
            isinstance(node, COPIED)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and node.lineno == node.end_lineno
        ):
            found[type(node)].setdefault(source.code(node), node)
    told = {}
    for kind, texts in found.items():
        ordered = sorted(texts.items(), key=lambda item: item[1].lineno)
        names = [(text, _read(node) & bound(source, source.function(node))) for text, node in ordered]
        told[kind] = ([node.lineno for _, node in ordered], names)
    return told


def _read(node: ast.AST) -> frozenset[str]:
    return frozenset(item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def _bracketed(text: str) -> str:
    return f"({text})" if isinstance(expression(text), ast.BoolOp | ast.IfExp | ast.Lambda) else text
