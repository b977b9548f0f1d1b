"""What a variable is given: what it is given elsewhere, or the better of what it has and what comes."""

import ast
from collections.abc import Iterator

from coder.repair.context.donor_code import statements, visible
from coder.repair.context.site import Rewrite, Site

MOST = 6


def kept_best(site: Site) -> Iterator[Rewrite]:
    """`best = max(best, x)` for `best = x`, and `x` for it."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value) if (
            _may_be_number(value)
        ):
            old, new = site.source.code(target), site.source.code(value)
            if "\n" not in new:
                for name, weight in (("max", 0.3), ("min", 0.3)):
                    yield from site.replace(
                        value,
                        f"{name}({old}, {new})",
                        weight=weight,
                        summary=f"keep the {name} in `{old[:30]}`",
                    )
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second], keywords=[]) as node:
            for item in (first, second):
                yield from site.replace(
                    node, site.source.code(item), weight=0.3, summary=f"no `{name}` of two"
                )
        case _:
            pass


def given_elsewhere(site: Site) -> Iterator[Rewrite]:
    """The value that the same variable, or the same result, is given at another place of the function."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Return)
        or node.value is None
    ):
        return
    mine, here = _what(site, node), visible(site.source, function)
    others: dict[str, None] = {}
    for item in ast.walk(function):
        if (
            item is not node
            and isinstance(item, ast.Assign | ast.Return)
            and item.value is not None
            and _what(site, item) == mine
        ):
            reads = {name.id for name in ast.walk(item.value) if isinstance(name, ast.Name)}
            if reads <= here:
                others[site.source.code(item.value)] = None
    for rank, text in enumerate([text for text in others if "\n" not in text][:MOST]):
        what = "return" if mine == "return" else f"give `{mine[:30]}`"
        yield from site.replace(
            node.value, text, weight=0.45 * 0.95**rank, summary=f"{what} `{text[:40]}` as elsewhere"
        )


def given_by_sibling(site: Site) -> Iterator[Rewrite]:
    """The value that a variable of the same name is given in another function of the file, where the same names can be read."""
    node, function = site.node, site.function
    if function is None or not isinstance(node, ast.Assign):
        return
    mine, here = _what(site, node), visible(site.source, function)
    others: dict[str, None] = {}
    for piece in statements(site.source):
        if (
            isinstance(piece.node, ast.Assign)
            and piece.function is not function
            and _what(site, piece.node) == mine
            and piece.names <= here
        ):
            others[site.source.code(piece.node.value)] = None
    for rank, text in enumerate([text for text in others if "\n" not in text][:MOST]):
        yield from site.replace(
            node.value,
            text,
            weight=0.5 * 0.9**rank,
            summary=f"give `{mine[:30]}` `{text[:40]}` as its sibling does",
        )


def _what(site: Site, node: ast.Assign | ast.AugAssign | ast.Return) -> str:
    match node:
        case ast.Return():
            return "return"
        case ast.Assign(targets=targets):
            return " = ".join(site.source.code(target) for target in targets)
        case _:
            return site.source.code(node.target)


def _may_be_number(value: ast.expr) -> bool:
    return isinstance(value, ast.BinOp | ast.Call | ast.Name | ast.Subscript)
