"""Missing progress in endless loops: counting, removing, following a link, storing a result."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.endless_loops import has_timeout
from coder.repair.context.scope import assigned_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.expressions.operators import ARITHMETIC


def kept(site: RewriteSite) -> Iterator[Rewrite]:
    """Store a computed value: `x += 1` for a statement `x + 1`, `x = 1` for `x == 1`."""
    code = site.source.text_of
    match site.node:
        case ast.Expr(value=ast.BinOp(left=ast.Name() | ast.Attribute() as target, op=op, right=value)) if (
            type(op) in ARITHMETIC
        ):
            text = f"{code(target)} {ARITHMETIC[type(op)][0]}= {code(value)}"
            yield from site.replace_expression(site.node, text, weight=1.0, summary=f"use `{text[:40]}`")
        case ast.Expr(
            value=ast.Compare(
                left=ast.Name() | ast.Attribute() as target, ops=[ast.Eq()], comparators=[value]
            )
        ):
            yield from site.replace_expression(
                site.node,
                f"{code(target)} = {code(value)}",
                weight=1.0,
                summary=f"assign to `{code(target)}` instead of comparing",
            )
        case _:
            pass


def advanced(site: RewriteSite) -> Iterator[Rewrite]:
    """Make a loop progress, if a test timed out: pop an element, follow a link, count."""
    loop = next(
        (ancestor for ancestor in site.source.ancestors(site.node) if isinstance(ancestor, ast.While)), None
    )
    if loop is None or not has_timeout(site.failures):
        return
    condition_names = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    match site.node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0), ctx=ast.Load()) if (
            name in condition_names
        ):
            yield from site.replace_expression(
                site.node, f"{name}.pop(0)", weight=0.9, summary="pop the element"
            )
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        ) if name in condition_names:
            yield from site.replace_expression(
                site.node, f"{name}.pop()", weight=0.9, summary="pop the element"
            )
        case ast.If(orelse=[]) as branch:
            names = {node.id for node in ast.walk(branch.test) if isinstance(node, ast.Name)} - {
                *assigned_names(loop)
            }
            yield from _add_else(site, branch, sorted(names))
        case ast.stmt() as last if last is loop.body[-1]:
            for name in sorted(condition_names - {*assigned_names(loop)}):
                for link in _links(site):
                    yield from site.insert_after(
                        last, [f"{name} = {name}.{link}"], weight=0.6, summary=f"advance to `{name}.{link}`"
                    )
        case _:
            pass


def _add_else(site: RewriteSite, branch: ast.If, names: list[str]) -> Iterator[Rewrite]:
    """Add an `else` that counts a variable of the condition which the loop never changes."""
    last = branch.body[-1]
    indent, inner_indent, (_, end) = (
        site.source.indent(branch),
        site.source.indent(last),
        site.source.span(last),
    )
    for name in names if not indent.strip() and not inner_indent.strip() else ():
        for rank, line in enumerate((f"{name} += 1", f"{name} -= 1")):
            text = f"{site.source.line_end}{indent}else:{site.source.line_end}{inner_indent}{line}"
            yield Rewrite(
                (TextChange(start=end, end=end, text=text),), 0.6 * 0.7**rank, f"add `else: {line}`"
            )


def _links(site: RewriteSite) -> list[str]:
    """Return attributes by which the file moves from one object to the next."""
    followed = dict.fromkeys(
        node.value.attr
        for node in ast.walk(site.source.tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Attribute)
        and [ast.unparse(target) for target in node.targets] == [ast.unparse(node.value.value)]
    )
    common = (
        node.attr
        for node in ast.walk(site.source.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("next", "parent")
    )
    return [*dict.fromkeys([*followed, *common])]
