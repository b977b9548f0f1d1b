"""A constant where a variable is meant, and the number that an assertion asks for."""

import ast
import re
from collections.abc import Iterator

from coder.core.values.verdict import Failure
from coder.repair.context.scope import idle, local_names, own_attributes
from coder.repair.context.site import Rewrite, Site

SEEN = re.compile(r"(?:^|assert )(-?\d+(?:\.\d+)?) (?:==|!=) (-?\d+(?:\.\d+)?)\s*$", re.MULTILINE)
MOST = 10
IDLE = 0.8
"""A parameter that nothing reads waits for a place."""
NAMESAKE = 0.9
"""A text that says the name of a variable may be meant as that."""


def named_value(site: Site) -> Iterator[Rewrite]:
    """A variable of the function, or an attribute, in the place of a constant; what is asked for by itself is a condition's matter."""
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.If):
        return
    weight, unused = _weight(site), idle(site.function)
    for rank, name in enumerate(local_names(site.source, node)[:MOST]):
        if likely := IDLE if name in unused else NAMESAKE if name == node.value else weight * 0.95**rank:
            summary = f"use `{name}` instead of {site.source.code(node)[:20]}"
            yield from site.replace(node, name, weight=likely, summary=summary)
    if isinstance(site.parent, ast.Call | ast.keyword):
        for rank, name in enumerate(own_attributes(site.source, node)[:MOST]):
            summary = f"use `self.{name}` instead of {site.source.code(node)[:20]}"
            yield from site.replace(node, f"self.{name}", weight=0.3 * 0.95**rank, summary=summary)


def asserted_number(site: Site) -> Iterator[Rewrite]:
    """A number that moves the result from what an assertion saw to what it expected: by their difference, or by their ratio."""
    node = site.node
    if (
        not isinstance(node, ast.Constant)
        or isinstance(node.value, bool)
        or not isinstance(node.value, int | float)
    ):
        return
    found: dict[float, float] = {}
    for one, other in numbers(site.failures):
        for seen, expected in ((one, other), (other, one)):
            found[node.value + expected - seen] = 0.4
            if node.value == seen:
                found[expected] = 0.45
            if seen and node.value and (node.value * expected / seen) % 1 == 0:
                found.setdefault(node.value * expected / seen, 0.35)
    for number, weight in found.items():
        text = (
            str(int(number)) if number == int(number) and isinstance(node.value, int) else repr(float(number))
        )
        yield from site.replace(
            node, text, weight=weight, summary=f"use {text} instead of {site.source.code(node)}"
        )


def numbers(failures: tuple[Failure, ...]) -> list[tuple[float, float]]:
    """Pairs of numbers that assertions found to differ."""
    return [
        (float(one), float(other)) for failure in failures for one, other in SEEN.findall(failure.message)
    ]


def _weight(site: Site) -> float:
    match site.parent:
        case ast.Call(args=arguments):
            return 0.4 if site.node in arguments else 0.0
        case ast.keyword():
            return 0.4
        case ast.Compare() | ast.BinOp() | ast.Subscript() | ast.Slice():
            return 0.3
        case ast.Return() | ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript()]):
            return 0.25
        case _:
            return 0.0
