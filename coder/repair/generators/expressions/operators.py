"""Wrong operators: arithmetic, comparison, boolean."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import dump_node
from coder.repair.context.site import ATOMIC_EXPRESSIONS, Rewrite, RewriteSite
from coder.repair.generators.expressions.negation import is_condition

ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-", "*", "|")),
    ast.Sub: ("-", ("+", "*", "//", "%")),
    ast.Mult: ("*", ("+", "**", "/", "//", "%", "-")),
    ast.Div: ("/", ("//", "*", "%")),
    ast.FloorDiv: ("//", ("/", "%", "*")),
    ast.Mod: ("%", ("//", "/", "*")),
    ast.Pow: ("**", ("*",)),
    ast.BitAnd: ("&", ("|", "-", "^")),
    ast.BitOr: ("|", ("&", "+", "^")),
    ast.BitXor: ("^", ("&", "|", "**")),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
}
COMPARISON: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">", ">=", "!=", "==")),
    ast.LtE: ("<=", ("<", ">=", ">", "==", "!=")),
    ast.Gt: (">", (">=", "<", "<=", "!=", "==")),
    ast.GtE: (">=", (">", "<=", "<", "==", "!=")),
    ast.Eq: ("==", ("!=", "<=", ">=", "<", ">", "is", "in")),
    ast.NotEq: ("!=", ("==", "<", ">", "<=", ">=", "is not", "not in")),
    ast.In: ("in", ("not in", "==")),
    ast.NotIn: ("not in", ("in", "!=")),
    ast.Is: ("is", ("is not", "==")),
    ast.IsNot: ("is not", ("is", "!=")),
}
NON_COMMUTATIVE = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
"""Operators whose operand order matters."""
FLAG_TEST_WEIGHT = 0.4
"""Weight of replacing `&` in a condition: `if flags & FLAG` is an idiom."""
ORDER_COMPARISONS, STRING_ORDER_WEIGHT = ("<", "<=", ">", ">="), 0.2
"""Order comparisons, and their weight where strings are compared for equality."""
FRACTION_FACTOR = 0.6
"""Weight factor of `/` for a value whose remainder is computed elsewhere in the function."""
RANK_DECAY = 0.85
"""Weight factor for each further alternative of an operator."""


def arithmetic(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an arithmetic operator, swap its operands, round up or towards zero, or divide by 100."""
    yield from _round_or_scale(site)
    match site.node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not _is_string_formatting(
            site.node
        ):
            old, others = ARITHMETIC[type(op)]
            likelihood = FLAG_TEST_WEIGHT if isinstance(op, ast.BitAnd) and _is_tested(site) else 0.9
            for rank, new in enumerate(others):
                weight = (
                    likelihood
                    * RANK_DECAY**rank
                    * (FRACTION_FACTOR if new == "/" and _has_remainder(site, left) else 1.0)
                )
                yield from _replace_operator(site, left, right, old=old, new=new, weight=weight)
            if isinstance(op, NON_COMMUTATIVE):
                yield from site.swap_expressions(
                    left, right, weight=0.6, summary=f"swap the operands of `{old}`"
                )
            for rewrite in (
                _replace_operator(site, left, right, old=old, new="/", weight=0.4)
                if isinstance(op, ast.FloorDiv)
                else ()
            ):
                (start, end), (change,) = site.source.span(site.node), rewrite.changes
                code = f"{site.source.text[start : change.start]}/{site.source.text[change.end : end]}"
                yield from site.replace_expression(
                    site.node, f"int({code})", weight=rewrite.weight, summary="round towards zero"
                )
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in ARITHMETIC:
            old, others = ARITHMETIC[type(op)]
            for rank, new in enumerate((*others, "")):
                yield from _replace_operator(
                    site, target, value, old=f"{old}=", new=f"{new}=", weight=0.9 * RANK_DECAY**rank
                )


def _has_remainder(site: RewriteSite, value: ast.expr) -> bool:
    """Tell whether the function computes a remainder of the same value."""
    same = dump_node(value)
    nodes = ast.walk(site.function) if site.function else ()
    return any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and dump_node(node.left) == same
        for node in nodes
    )


def _round_or_scale(site: RewriteSite) -> Iterator[Rewrite]:
    code = site.source.text_of
    match site.node:
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            operand = code(left) if isinstance(left, ATOMIC_EXPRESSIONS) else f"({code(left)})"
            yield from site.replace_expression(
                site.node, f"-(-{operand} // {code(right)})", weight=0.4, summary="round up"
            )
        case ast.BinOp(op=ast.Mult()) if not isinstance(site.parent, ast.BinOp) or isinstance(
            site.parent.op, ast.Add | ast.Sub
        ):
            yield from site.replace_expression(
                site.node, f"{code(site.node)} / 100", weight=0.25, summary="divide by 100"
            )
        case _:
            pass


def _is_tested(site: RewriteSite) -> bool:
    return is_condition(site.source, site.node) or (
        isinstance(site.parent, ast.UnaryOp) and isinstance(site.parent.op, ast.Not)
    )


def comparison(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a comparison operator, or swap the operands of `in`."""
    if not isinstance(site.node, ast.Compare):
        return
    left = site.node.left
    for op, right in zip(site.node.ops, site.node.comparators, strict=True):
        old, others = COMPARISON[type(op)]
        has_identity = not any(_has_no_identity(operand) for operand in (left, right))
        for rank, new in enumerate(new for new in others if has_identity or not new.startswith("is")):
            likelihood = (
                STRING_ORDER_WEIGHT
                if old in ("==", "!=") and new in ORDER_COMPARISONS and any(map(_is_text, (left, right)))
                else 0.95
            )
            yield from _replace_operator(
                site, left, right, old=old, new=new, weight=likelihood * RANK_DECAY**rank
            )
        if isinstance(op, ast.In | ast.NotIn):
            yield from site.swap_expressions(left, right, weight=0.3, summary=f"swap the sides of `{old}`")
        left = right


def _has_no_identity(node: ast.expr) -> bool:
    """Tell whether a node is a number or string literal: identity of literals depends on the interpreter."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float | str | bytes)
        and not isinstance(node.value, bool)
    )


def boolean(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap `and` and `or`, or drop an operand."""
    node = site.node
    if not isinstance(node, ast.BoolOp):
        return
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    changes: list[TextChange] = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        rewrite = next(_replace_operator(site, left, right, old=old, new=new, weight=0.9), None)
        changes += rewrite.changes if rewrite else ()
    if changes:
        yield Rewrite(tuple(changes), 0.9, f"combine with `{new}` instead of `{old}`")
    for change in changes if len(changes) > 1 else ():
        yield Rewrite((change,), 0.5, f"combine with `{new}` instead of `{old}`")
    yield from _compare_with_each(site, node)
    for dropped in node.values:
        remaining = f" {old} ".join(
            site.source.text_of(value) for value in node.values if value is not dropped
        )
        yield from site.replace_expression(
            node,
            remaining,
            weight=0.35,
            summary=f"drop the condition `{_abbreviate(site.source.text_of(dropped))}`",
        )


def _compare_with_each(site: RewriteSite, node: ast.BoolOp) -> Iterator[Rewrite]:
    """Repeat a comparison for each value: `x == 1 or x == 2` for `x == 1 or 2`."""
    match node.values:
        case [ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op]), *others] if all(
            isinstance(other, ast.Constant) for other in others
        ):
            prefix = f"{site.source.text_of(left)} {'==' if isinstance(op, ast.Eq) else '!='} "
            starts = [site.source.span(other)[0] for other in others]
            yield Rewrite(
                tuple(TextChange(start=start, end=start, text=prefix) for start in starts),
                1.2,
                "repeat the comparison for each value",
            )
        case _:
            pass


def _replace_operator(
    site: RewriteSite, left: ast.AST, right: ast.AST, *, old: str, new: str, weight: float
) -> Iterator[Rewrite]:
    """Change the operator between two nodes."""
    start, end = site.source.span(left)[1], site.source.span(right)[0]
    pattern = re.escape(old).replace(r"\ ", r"\s+")
    match = re.search(rf"\b{pattern}\b" if old[0].isalpha() else pattern, site.source.text[start:end])
    if match and "#" not in site.source.text[start : start + match.start()]:
        change = TextChange(start=start + match.start(), end=start + match.end(), text=new)
        yield Rewrite((change,), weight, f"use `{new}` instead of `{old}`")


def _is_string_formatting(node: ast.BinOp) -> bool:
    return (
        isinstance(node.op, ast.Mod)
        and isinstance(node.left, ast.Constant | ast.JoinedStr)
        and not _is_number(node.left)
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _abbreviate(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 40 else f"{line[:37]}..."
