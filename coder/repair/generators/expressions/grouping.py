"""Parentheses that are missing, too many, or around the wrong operands."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.repair.context.site import Rewrite, Site


def grouping(site: Site) -> Iterator[Rewrite]:
    """`(a + b) * c` for `a + b * c` and the other way round; `(a or b) and c` for `a or b and c`; `f(a) * b` for `f(a * b)`."""
    yield from _taken_out(site)
    match site.node:
        case ast.BinOp(left=left, right=ast.BinOp(left=middle, right=last)) as node:
            yield from _first_of_all(site, node)
            yield from _regrouped(site, node, left, middle, last, leftwards=True)
        case ast.BinOp(left=ast.BinOp(left=first, right=middle), right=last) as node:
            yield from _regrouped(site, node, first, middle, last, leftwards=False)
        case ast.BoolOp(values=[*_, ast.BoolOp(values=[middle, *_])]) as node:
            # `a or b and c`: the last of the outer with the first of the inner.
            yield from _bracketed(site, node, node.values[-2], middle)
        case _:
            pass


def _taken_out(site: Site) -> Iterator[Rewrite]:
    """What is done with the last argument of a call, and of the calls around it, is done with what these give."""
    node, call, text = site.node, site.parent, site.source.text
    if not isinstance(node, ast.BinOp):
        return
    operator = _operator(text, site.source.span(node.left)[1], site.source.span(node.right)[0])
    start, end = site.source.span(node)
    weight = 0.45
    while (
        operator
        and isinstance(call, ast.Call)
        and not call.keywords
        and text[end : site.source.span(call)[1]].strip(" )") == ""
    ):
        around, close = site.source.span(call)
        new = f"{text[around:start]}{site.source.code(node.left)}{text[end:close]} {operator} {_single(site, node.right)}"
        yield from site.replace(call, new, weight=weight, summary="calculate with what the call gives")
        call, weight = site.source.parents.get(call, site.source.tree), weight * 0.8


def _first_of_all(site: Site, node: ast.BinOp) -> Iterator[Rewrite]:
    """`(a - b) * c / d` for `a - b * c / d`: what stands first is done first, though more than one thing follows."""
    part = node.right
    while isinstance(part, ast.BinOp):
        part = part.left
    start, end = site.source.span(node)[0], site.source.span(part)[1]
    if site.source.text[site.source.span(node.left)[1] : end].count("(") == site.source.code(part).count("("):
        changes = Change(start=start, end=start, text="("), Change(start=end, end=end, text=")")
        yield Rewrite(changes, 0.4, "calculate the first part first")


def _regrouped(
    site: Site, node: ast.BinOp, first: ast.expr, middle: ast.expr, last: ast.expr, *, leftwards: bool
) -> Iterator[Rewrite]:
    text = site.source.text
    before = _operator(text, site.source.span(first)[1], site.source.span(middle)[0])
    after = _operator(text, site.source.span(middle)[1], site.source.span(last)[0])
    one, two, three = (_single(site, part) for part in (first, middle, last))
    if before and after:
        new = (
            f"({one} {before} {two}) {after} {three}"
            if leftwards
            else f"{one} {before} ({two} {after} {three})"
        )
        yield from site.replace(node, new, weight=0.45, summary="calculate in another order")


def _bracketed(site: Site, node: ast.BoolOp, left: ast.expr, right: ast.expr) -> Iterator[Rewrite]:
    start, end = site.source.span(left)[0], site.source.span(right)[1]
    whole, text = site.source.span(node), site.source.text
    if text[start:end].count("(") == text[start:end].count(")"):
        new = f"{text[whole[0] : start]}({text[start:end]}){text[end : whole[1]]}"
        yield from site.replace(node, new, weight=0.4, summary="ask in another order")


def _operator(text: str, start: int, end: int) -> str:
    """What stands between two operands, without parentheses."""
    return text[start:end].replace("(", "").replace(")", "").strip()


def _single(site: Site, part: ast.expr) -> str:
    code = site.source.code(part)
    return (
        f"({code})"
        if isinstance(part, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare | ast.Lambda)
        else code
    )
