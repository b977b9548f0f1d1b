"""Constant truth values in place of a condition: `if True:`, `return True`, `seen = True`."""

import ast
from collections.abc import Iterator

from coder.repair.context.conditions import length_conditions, possible_conditions
from coder.repair.context.site import Rewrite, RewriteSite

MOST_CONDITIONS = 120
BRANCH, RESULT, STORED = 0.8, 0.35, 0.3


def unconditional(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a constant truth value with a condition, or toggle a flag instead of setting it."""
    node = site.node
    if not (isinstance(node, ast.Constant) and isinstance(node.value, bool)):
        return
    match site.parent:
        case ast.If(test=test) | ast.IfExp(test=test) if test is node:
            weight = BRANCH
        case ast.Return():
            weight = RESULT
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target]):
            weight = STORED
            flag = site.source.text_of(target)
            yield from site.replace_expression(node, f"not {flag}", weight=0.6, summary=f"toggle `{flag}`")
        case _:
            return
    length_tests = length_conditions(site.source, site.parent) if isinstance(site.parent, ast.If) else ()
    for text, likelihood in (*possible_conditions(site.source, node)[:MOST_CONDITIONS], *length_tests):
        yield from site.replace_expression(
            node, text, weight=weight * likelihood, summary=f"check `{text[:40]}`"
        )
