"""Wrong values in assignments: values used elsewhere, running minimum and maximum."""

import ast
from collections.abc import Iterator

from coder.repair.context.donor_code import donor_statements, names_in_scope
from coder.repair.context.site import Rewrite, RewriteSite

MOST = 6


def kept_best(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or drop a running extreme: `best = max(best, x)` for `best = x`, and `x` for `max(a, x)`."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value) if (
            _may_be_number(value)
        ):
            old, new = site.source.text_of(target), site.source.text_of(value)
            if "\n" not in new:
                for name, weight in (("max", 0.3), ("min", 0.3)):
                    yield from site.replace_expression(
                        value,
                        f"{name}({old}, {new})",
                        weight=weight,
                        summary=f"keep the {name} in `{old[:30]}`",
                    )
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second], keywords=[]) as node:
            for operand in (first, second):
                yield from site.replace_expression(
                    node, site.source.text_of(operand), weight=0.3, summary=f"drop the `{name}`"
                )
        case _:
            pass


def given_elsewhere(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the value that the same variable is assigned, or the function returns, at another place."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
        or node.value is None
    ):
        return
    own_target, visible_names = _assigned_target(site, node), names_in_scope(site.source, function)
    values: dict[str, None] = {}
    for statement in ast.walk(function):
        if (
            statement is not node
            and isinstance(statement, ast.Assign | ast.Return)
            and statement.value is not None
            and _assigned_target(site, statement) == own_target
        ):
            reads = {name.id for name in ast.walk(statement.value) if isinstance(name, ast.Name)}
            if reads <= visible_names:
                values[site.source.text_of(statement.value)] = None
    for rank, text in enumerate([text for text in values if "\n" not in text][:MOST]):
        action = "return" if own_target == "return" else f"set `{own_target[:30]}` to"
        yield from site.replace_expression(
            node.value, text, weight=0.45 * 0.95**rank, summary=f"{action} `{text[:40]}` as elsewhere"
        )


def given_by_sibling(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the value that a variable of the same name is assigned in another function of the file."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.Assign):
        return
    own_target, visible_names = _assigned_target(site, node), names_in_scope(site.source, function)
    values: dict[str, None] = {}
    for piece in donor_statements(site.source):
        if (
            isinstance(piece.node, ast.Assign)
            and piece.function is not function
            and _assigned_target(site, piece.node) == own_target
            and piece.names <= visible_names
        ):
            values[site.source.text_of(piece.node.value)] = None
    for rank, text in enumerate([text for text in values if "\n" not in text][:MOST]):
        yield from site.replace_expression(
            node.value,
            text,
            weight=0.5 * 0.9**rank,
            summary=f"set `{own_target[:30]}` to `{text[:40]}` as its sibling does",
        )


def _assigned_target(site: RewriteSite, node: ast.Assign | ast.AugAssign | ast.Return) -> str:
    match node:
        case ast.Return():
            return "return"
        case ast.Assign(targets=targets):
            return " = ".join(site.source.text_of(target) for target in targets)
        case _:
            return site.source.text_of(node.target)


def _may_be_number(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp | ast.Call | ast.Name | ast.Subscript)
