"""Parentheses that are missing, superfluous, or around the wrong operands."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite


def grouping(site: RewriteSite) -> Iterator[Rewrite]:
    """Regroup operands: `(a + b) * c` for `a + b * c`, `f(a) * b` for `f(a * b)`."""
    yield from _move_out_of_call(site)
    match site.node:
        case ast.BinOp(left=left, right=ast.BinOp(left=middle, right=last)) as node:
            yield from _evaluate_leftmost_first(site, node)
            yield from _regroup_operands(site, node, left, middle, last, leftwards=True)
        case ast.BinOp(left=ast.BinOp(left=first, right=middle), right=last) as node:
            yield from _regroup_operands(site, node, first, middle, last, leftwards=False)
        case ast.BoolOp(values=[*_, ast.BoolOp(values=[middle, *_])]) as node:
            # In `a or b and c`: group the last outer value with the first inner one.
            yield from _regroup_conditions(site, node, node.values[-2], middle)
        case _:
            pass


def _move_out_of_call(site: RewriteSite) -> Iterator[Rewrite]:
    """Move an operation on the last argument out of the call, and out of the calls around it."""
    node, call, text = site.node, site.parent, site.source.text
    if not isinstance(node, ast.BinOp):
        return
    operator = _operator_between(text, site.source.span(node.left)[1], site.source.span(node.right)[0])
    start, end = site.source.span(node)
    weight = 0.45
    while (
        operator
        and isinstance(call, ast.Call)
        and not call.keywords
        and text[end : site.source.span(call)[1]].strip(" )") == ""
    ):
        call_start, close = site.source.span(call)
        new = (
            f"{text[call_start:start]}{site.source.text_of(node.left)}{text[end:close]}"
            f" {operator} {_parenthesize(site, node.right)}"
        )
        yield from site.replace_expression(
            call, new, weight=weight, summary="move the operation out of the call"
        )
        call, weight = site.source.parents.get(call, site.source.tree), weight * 0.8


def _evaluate_leftmost_first(site: RewriteSite, node: ast.BinOp) -> Iterator[Rewrite]:
    """Evaluate the leftmost operation first: `(a - b) * c / d` for `a - b * c / d`."""
    part = node.right
    while isinstance(part, ast.BinOp):
        part = part.left
    start, end = site.source.span(node)[0], site.source.span(part)[1]
    if site.source.text[site.source.span(node.left)[1] : end].count("(") == site.source.text_of(part).count(
        "("
    ):
        changes = TextChange(start=start, end=start, text="("), TextChange(start=end, end=end, text=")")
        yield Rewrite(changes, 0.4, "add parentheses around the first operation")


def _regroup_operands(
    site: RewriteSite, node: ast.BinOp, first: ast.expr, middle: ast.expr, last: ast.expr, *, leftwards: bool
) -> Iterator[Rewrite]:
    text = site.source.text
    before = _operator_between(text, site.source.span(first)[1], site.source.span(middle)[0])
    after = _operator_between(text, site.source.span(middle)[1], site.source.span(last)[0])
    first_code, middle_code, last_code = (_parenthesize(site, part) for part in (first, middle, last))
    if before and after:
        new = (
            f"({first_code} {before} {middle_code}) {after} {last_code}"
            if leftwards
            else f"{first_code} {before} ({middle_code} {after} {last_code})"
        )
        yield from site.replace_expression(node, new, weight=0.45, summary="regroup the operands")


def _regroup_conditions(
    site: RewriteSite, node: ast.BoolOp, left: ast.expr, right: ast.expr
) -> Iterator[Rewrite]:
    start, end = site.source.span(left)[0], site.source.span(right)[1]
    span, text = site.source.span(node), site.source.text
    if text[start:end].count("(") == text[start:end].count(")"):
        new = f"{text[span[0] : start]}({text[start:end]}){text[end : span[1]]}"
        yield from site.replace_expression(node, new, weight=0.4, summary="regroup the conditions")


def _operator_between(text: str, start: int, end: int) -> str:
    """Return the text between two operands, without parentheses."""
    return text[start:end].replace("(", "").replace(")", "").strip()


def _parenthesize(site: RewriteSite, part: ast.expr) -> str:
    code = site.source.text_of(part)
    return (
        f"({code})"
        if isinstance(part, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare | ast.Lambda)
        else code
    )
