"""Wrong literals: numbers, booleans, None."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from coder.python.source import is_docstring
from coder.repair.context.site import Rewrite, RewriteSite

MAX_NEARBY_INTEGERS = 12
EMPTY = ("0", "''", "[]", "{}", "()", "False", "True")


def constant(site: RewriteSite) -> Iterator[Rewrite]:
    """Use another number that is common or occurs nearby, the other boolean, or an empty value for None."""
    node = site.node
    if not isinstance(node, ast.Constant):
        return
    match node.value:
        case bool() as value:
            yield from _replace_literal(site, str(not value), 0.9)
            is_identity_test = isinstance(site.parent, ast.Compare) and isinstance(
                site.parent.ops[-1], ast.Is | ast.IsNot
            )
            yield from _replace_literal(site, "None", 0.8 if is_identity_test else 0.25)
        case int() as value:
            yield from _other_integers(site, value)
        case float() as value:
            for number in (
                value * 10,
                value / 10,
                value + 1,
                value - 1,
                value * 2,
                value / 2,
                0.0,
                1.0,
                -value,
            ):
                yield from _replace_literal(site, repr(number), 0.4)
        case None:
            for text in EMPTY:
                yield from _replace_literal(site, text, 0.3)
        case str() as value if not isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.FormattedValue):
            yield from _replace_literal(site, "''" if value else "' '", 0.3)
        case _:
            pass


def initial(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an initial value: 0 or 1, an empty value of another type, an infinity."""
    match site.node:
        case (
            ast.Assign(targets=[ast.Name() | ast.Attribute()], value=value)
            | ast.AnnAssign(value=ast.expr() as value)
        ):
            pass
        case _:
            return
    match value:
        case ast.Constant(value=bool() | str() | None):
            return
        case ast.Constant(value=int() as number):
            for new in (1 - number if number in (0, 1) else 0, -1, "float('inf')", "float('-inf')", "None"):
                yield from site.replace_expression(
                    value, str(new), weight=0.7 if isinstance(new, int) else 0.3, summary=f"start with {new}"
                )
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Tuple(elts=[]):
            for new in ("[]", "{}", "set()", "()", "''", "0", "None"):
                yield from site.replace_expression(value, new, weight=0.35, summary=f"start with `{new}`")
        case ast.Call(func=ast.Name(id=name), args=[], keywords=[]):
            for new in ("list", "dict", "set", "tuple", "str", "int"):
                if name in ("list", "dict", "set", "tuple", "str", "int", "deque"):
                    yield from site.replace_expression(
                        value, f"{new}()", weight=0.3, summary=f"start with `{new}()`"
                    )


def _other_integers(site: RewriteSite, value: int) -> Iterator[Rewrite]:
    weights = {
        0: 0.6,
        1: 0.6,
        2: 0.45,
        -1: 0.4,
        -value: 0.4,
        value * 10: 0.35,
        value // 10: 0.25,
        value * 2: 0.3,
        value // 2: 0.25,
    }
    weights |= {
        number: 0.4
        for number in _smallest_integers(site.function or site.source.tree)
        if number not in weights
    }
    # `boundary` offers +1 and -1 where counting is likely; this offers them anywhere.
    weights |= {
        value + 1: max(weights.get(value + 1, 0), 0.5),
        value - 1: max(weights.get(value - 1, 0), 0.5),
    }
    for number, weight in weights.items():
        yield from _replace_literal(site, str(number), weight)


@lru_cache(maxsize=1024)
def _smallest_integers(scope: ast.AST) -> list[int]:
    """Return the smallest integers of a function or a module."""
    return sorted(
        {node.value for node in ast.walk(scope) if isinstance(node, ast.Constant) and type(node.value) is int}
    )[:MAX_NEARBY_INTEGERS]


def _replace_literal(site: RewriteSite, new: str, weight: float) -> Iterator[Rewrite]:
    if isinstance(site.parent, ast.stmt) and is_docstring(site.parent):
        return
    node = site.node
    yield from site.replace_expression(
        node, new, weight=weight, summary=f"use {new} instead of {site.source.text_of(node)}"
    )
