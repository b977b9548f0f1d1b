"""Similar expressions of the same file: conditions, calls, and other parts."""

import ast
from bisect import bisect
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest

from coder.python.source import PythonSource, parse_expression
from coder.repair.context.donor_code import donor_conditions, names_bound_in, names_in_scope, proximity_of
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.expressions.negation import is_condition

MOST_SIMILAR = 12
MOST_EXPRESSIONS = 6
MIN_SIMILARITY = 0.6
MAX_COMPARED_PER_SIDE = 50
"""Number of expressions to compare on each side of the current one: a table holds thousands."""
COPYABLE_TYPES = (ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.Attribute)


def other_condition(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a condition from elsewhere in the file: instead of this one, or combined with it."""
    node = site.node
    if (
        not is_condition(site.source, node)
        or isinstance(site.parent, ast.BoolOp | ast.Return)
        or not isinstance(node, ast.expr)
    ):
        return
    function = site.function
    visible_names = names_in_scope(site.source, function)
    code = site.source.text_of(node)
    own_text = f"({code})" if isinstance(node, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr) else code
    weights: dict[str, float] = {}
    for piece in donor_conditions(site.source):
        if piece.names <= visible_names and piece.text not in (code, own_text) and "\n" not in piece.text:
            proximity = proximity_of(piece, function, site.source.owner_class(function))
            weights[piece.text] = max(
                weights.get(piece.text, 0.0), proximity * (1.0 if piece.names & _names_read(node) else 0.6)
            )
    for other in sorted(weights, key=lambda text: (-weights[text], text))[:MOST_SIMILAR]:
        weight, other_text = weights[other], _parenthesize(other)
        yield from site.replace_expression(node, other, weight=0.3 * weight, summary=f"check `{other[:40]}`")
        for new, rank in (
            (f"{own_text} and {other_text}", 0.33),
            (f"{other_text} or {own_text}", 0.31),
            (f"{other_text} and {own_text}", 0.3),
            (f"{own_text} or {other_text}", 0.3),
        ):
            yield from site.replace_expression(
                node, new, weight=rank * weight, summary=f"also check `{other[:40]}`"
            )


LONGEST = 100
"""Characters of an expression that is replaced by a similar one."""
LONGEST_SIMILAR = LONGEST * 3 // 2
"""Characters of expressions that can be similar to such a one."""


def similar(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a similar expression of the same kind from elsewhere in the file."""
    node = site.node
    if not isinstance(node, COPYABLE_TYPES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    code = site.source.text_of(node)
    if not 6 <= len(code) <= LONGEST or (isinstance(site.parent, ast.Call) and site.parent.func is node):
        return
    visible_names = names_in_scope(site.source, site.function)
    scored: dict[str, float] = {}
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(code)
    lines, texts = _expressions(site.source)[type(node)]
    position = bisect(lines, getattr(node, "lineno", 0))
    for text, names in texts[max(0, position - MAX_COMPARED_PER_SIDE) : position + MAX_COMPARED_PER_SIDE]:
        if text != code and names <= visible_names and abs(len(text) - len(code)) <= 0.5 * len(code):
            matcher.set_seq1(text)
            least = (
                nlargest(MOST_EXPRESSIONS, scored.values())[-1]
                if len(scored) >= MOST_EXPRESSIONS
                else MIN_SIMILARITY
            )
            if matcher.quick_ratio() >= least and (ratio := matcher.ratio()) >= least:
                scored[text] = ratio
    for text in sorted(scored, key=lambda text: (-scored[text], text))[:MOST_EXPRESSIONS]:
        yield from site.replace_expression(
            node, text, weight=0.4 * scored[text], summary=f"use `{text[:40]}` as elsewhere"
        )


@lru_cache(maxsize=256)
def _expressions(
    source: PythonSource,
) -> dict[type[ast.AST], tuple[list[int], list[tuple[str, frozenset[str]]]]]:
    """Return the file's expressions by node type: their first lines, and their texts.

    Each text comes with the local names that it reads.
    """
    nodes_by_text: dict[type[ast.AST], dict[str, ast.expr]] = {kind: {} for kind in COPYABLE_TYPES}
    for node in ast.walk(source.tree):
        if (
            isinstance(node, COPYABLE_TYPES)
            and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            and node.lineno == node.end_lineno
            and (node.end_col_offset or 0) - node.col_offset <= LONGEST_SIMILAR * 4  # bytes
        ):
            nodes_by_text[type(node)].setdefault(source.text_of(node), node)
    result = {}
    for kind, texts in nodes_by_text.items():
        ordered = sorted(texts.items(), key=lambda pair: pair[1].lineno)
        names = [
            (text, _names_read(node) & names_bound_in(source, source.enclosing_function(node)))
            for text, node in ordered
        ]
        result[kind] = ([node.lineno for _, node in ordered], names)
    return result


def _names_read(node: ast.AST) -> frozenset[str]:
    return frozenset(descendant.id for descendant in ast.walk(node) if isinstance(descendant, ast.Name))


def _parenthesize(text: str) -> str:
    return f"({text})" if isinstance(parse_expression(text), ast.BoolOp | ast.IfExp | ast.Lambda) else text
