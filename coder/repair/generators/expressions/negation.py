"""Inverted conditions."""

import ast
from collections.abc import Iterator

from coder.python.source import PythonSource
from coder.repair.context.site import ATOMIC_EXPRESSIONS, Rewrite, RewriteSite


def negation(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a `not`, or test for None instead of truth; comparisons have operators of their own."""
    node = site.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from site.replace_expression(
            node, site.source.text_of(node.operand), weight=0.85, summary="drop a `not`"
        )
        yield from _test_membership(site, node, node.operand, "not in")
        if isinstance(node.operand, ATOMIC_EXPRESSIONS):
            yield from site.replace_expression(
                node,
                f"{site.source.text_of(node.operand)} is None",
                weight=0.4,
                summary="test for None, not for truth",
            )
        return
    if not is_condition(site.source, node) or not isinstance(node, ast.expr):
        yield from _default_only_for_none(site)
        return
    yield from _test_membership(site, node, node, "in")
    code = site.source.text_of(node)
    if not isinstance(node, ast.Compare):
        negated = f"not {code}" if isinstance(node, ATOMIC_EXPRESSIONS) else f"not ({code})"
        yield from site.replace_expression(
            node, negated, weight=0.85 if not is_returned(site) else 0.4, summary="negate the condition"
        )
    match node:
        case ast.Name() | ast.Attribute() if not is_returned(site):
            yield from site.replace_expression(
                node, f"{code} is not None", weight=0.45, summary="test for None, not for truth"
            )
        case ast.Compare(left=left, ops=[ast.Is() as op], comparators=[ast.Constant(value=None)]):
            yield from site.replace_expression(
                node,
                f"not {site.source.text_of(left)}",
                weight=0.35,
                summary=f"test for truth, not with `{operator_name(op)}`",
            )
        case ast.Compare(left=left, ops=[ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
            yield from site.replace_expression(
                node,
                site.source.text_of(left),
                weight=0.35,
                summary=f"test for truth, not with `{operator_name(op)}`",
            )


def _test_membership(site: RewriteSite, node: ast.expr, tested: ast.expr, operator: str) -> Iterator[Rewrite]:
    """Test membership: `key in x` for `x.get(key)`, whose value may be empty or zero."""
    match tested:
        case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[key], keywords=[]):
            text = f"{site.source.text_of(key)} {operator} {site.source.text_of(holder)}"
            yield from site.replace_expression(
                node, text, weight=0.5, summary=f"use `{operator}` instead of `get`"
            )
        case _:
            pass


def _default_only_for_none(site: RewriteSite) -> Iterator[Rewrite]:
    """Keep empty and zero values: `b if a is None else a` for `a or b`."""
    match site.node:
        case ast.BoolOp(
            op=ast.Or(), values=[ast.Name() | ast.Attribute() as preferred, ast.expr() as fallback]
        ):
            code, other = site.source.text_of(preferred), site.source.text_of(fallback)
            yield from site.replace_expression(
                site.node,
                f"{other} if {code} is None else {code}",
                weight=0.6,
                summary=f"keep `{code}` unless it is None",
            )
        case _:
            pass


def is_condition(source: PythonSource, node: ast.AST) -> bool:
    """Tell whether the truth value of a node is tested."""
    match source.parents.get(node):
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
            return test is node
        case ast.comprehension(ifs=conditions):
            return node in conditions
        case ast.BoolOp() as parent:
            return is_condition(source, parent)
        case ast.Return():
            return isinstance(node, ast.Compare | ast.BoolOp | ast.Call | ast.Name | ast.Attribute)
        case _:
            return False


def is_returned(site: RewriteSite) -> bool:
    """Tell whether the node is a return value."""
    return isinstance(site.parent, ast.Return)


def operator_name(op: ast.cmpop) -> str:
    """Return the operator `is` or `is not` as text."""
    return "is" if isinstance(op, ast.Is) else "is not"
