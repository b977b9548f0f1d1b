"""What a loop goes on for ever without: something that is counted, taken out, followed or kept."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.repair.context.endless_loops import never_ended
from coder.repair.context.scope import stored
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.expressions.operators import ARITHMETIC


def kept(site: Site) -> Iterator[Rewrite]:
    """`x += 1` for a statement `x + 1`, `x = 1` for `x == 1`: what is calculated and not kept."""
    code = site.source.code
    match site.node:
        case ast.Expr(value=ast.BinOp(left=ast.Name() | ast.Attribute() as target, op=op, right=value)) if (
            type(op) in ARITHMETIC
        ):
            text = f"{code(target)} {ARITHMETIC[type(op)][0]}= {code(value)}"
            yield from site.replace(site.node, text, weight=1.0, summary=f"keep `{text[:40]}`")
        case ast.Expr(
            value=ast.Compare(
                left=ast.Name() | ast.Attribute() as target, ops=[ast.Eq()], comparators=[value]
            )
        ):
            yield from site.replace(
                site.node,
                f"{code(target)} = {code(value)}",
                weight=1.0,
                summary=f"give `{code(target)}` the value",
            )
        case _:
            pass


def advanced(site: Site) -> Iterator[Rewrite]:
    """Take out what is looked at, follow what is linked, count where a condition does not hold: only where a test did not end."""
    loop = next((item for item in site.source.around(site.node) if isinstance(item, ast.While)), None)
    if loop is None or not never_ended(site.failures):
        return
    asked = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    match site.node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0), ctx=ast.Load()) if (
            name in asked
        ):
            yield from site.replace(site.node, f"{name}.pop(0)", weight=0.9, summary="take it out")
        case ast.Subscript(
            value=ast.Name(id=name), slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        ) if name in asked:
            yield from site.replace(site.node, f"{name}.pop()", weight=0.9, summary="take it out")
        case ast.If(orelse=[]) as question:
            names = {node.id for node in ast.walk(question.test) if isinstance(node, ast.Name)} - {
                *stored(loop)
            }
            yield from _else(site, question, sorted(names))
        case ast.stmt() as last if last is loop.body[-1]:
            for name in sorted(asked - {*stored(loop)}):
                for link in _links(site):
                    yield from site.after(
                        last, [f"{name} = {name}.{link}"], weight=0.6, summary=f"go on with `{name}.{link}`"
                    )
        case _:
            pass


def _else(site: Site, question: ast.If, names: list[str]) -> Iterator[Rewrite]:
    """Where the condition does not hold, a variable that it asks about and the loop never changes is counted."""
    last = question.body[-1]
    indent, inner, (_, end) = site.source.indent(question), site.source.indent(last), site.source.span(last)
    for name in names if not indent.strip() and not inner.strip() else ():
        for rank, line in enumerate((f"{name} += 1", f"{name} -= 1")):
            text = f"{site.source.line_end}{indent}else:{site.source.line_end}{inner}{line}"
            yield Rewrite((Change(start=end, end=end, text=text),), 0.6 * 0.7**rank, f"else `{line}`")


def _links(site: Site) -> list[str]:
    """Attributes by which the file goes from one object to the next."""
    found = dict.fromkeys(
        node.value.attr
        for node in ast.walk(site.source.tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Attribute)
        and [ast.unparse(target) for target in node.targets] == [ast.unparse(node.value.value)]
    )
    named = (
        node.attr
        for node in ast.walk(site.source.tree)
        if isinstance(node, ast.Attribute) and node.attr in ("next", "parent")
    )
    return [*dict.fromkeys([*found, *named])]
