"""Constants in place of a variable, and numbers that an assertion asks for."""

import ast
import re
from collections.abc import Iterator

from coder.core.verdict import Failure
from coder.repair.context.scope import local_names, parameters_never_read, self_attribute_names
from coder.repair.context.site import Rewrite, RewriteSite

NUMBER_COMPARISON = re.compile(
    r"(?:^|assert )(-?\d+(?:\.\d+)?) (?:==|!=) (-?\d+(?:\.\d+)?)\s*$", re.MULTILINE
)
MOST_NAMES = 10
UNREAD_PARAMETER_WEIGHT = 0.8
"""Weight of a parameter that nothing reads."""
SAME_NAME_WEIGHT = 0.9
"""Weight of a variable whose name is the text of the literal."""


def named_value(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a constant with a variable or an attribute; a constant condition is left to `unconditional`."""
    node = site.node
    if not isinstance(node, ast.Constant) or isinstance(site.parent, ast.Expr | ast.JoinedStr | ast.If):
        return
    weight, unused_parameters = _position_weight(site), parameters_never_read(site.function)
    for rank, name in enumerate(local_names(site.source, node)[:MOST_NAMES]):
        if (
            name_weight := UNREAD_PARAMETER_WEIGHT
            if name in unused_parameters
            else SAME_NAME_WEIGHT
            if name == node.value
            else weight * 0.95**rank
        ):
            summary = f"use `{name}` instead of {site.source.text_of(node)[:20]}"
            yield from site.replace_expression(node, name, weight=name_weight, summary=summary)
    if isinstance(site.parent, ast.Call | ast.keyword):
        for rank, name in enumerate(self_attribute_names(site.source, node)[:MOST_NAMES]):
            summary = f"use `self.{name}` instead of {site.source.text_of(node)[:20]}"
            yield from site.replace_expression(node, f"self.{name}", weight=0.3 * 0.95**rank, summary=summary)


def asserted_number(site: RewriteSite) -> Iterator[Rewrite]:
    """Adjust a number by the difference or the ratio of the seen and the expected value of an assertion."""
    node = site.node
    if (
        not isinstance(node, ast.Constant)
        or isinstance(node.value, bool)
        or not isinstance(node.value, int | float)
    ):
        return
    weights: dict[float, float] = {}
    for left, right in differing_numbers(site.failures):
        for actual, expected in ((left, right), (right, left)):
            weights[node.value + expected - actual] = 0.4
            if node.value == actual:
                weights[expected] = 0.45
            if actual and node.value and (node.value * expected / actual) % 1 == 0:
                weights.setdefault(node.value * expected / actual, 0.35)
    for number, weight in weights.items():
        text = (
            str(int(number)) if number == int(number) and isinstance(node.value, int) else repr(float(number))
        )
        yield from site.replace_expression(
            node, text, weight=weight, summary=f"use {text} instead of {site.source.text_of(node)}"
        )


def differing_numbers(failures: tuple[Failure, ...]) -> list[tuple[float, float]]:
    """Return pairs of numbers that assertions found to differ."""
    return [
        (float(left), float(right))
        for failure in failures
        for left, right in NUMBER_COMPARISON.findall(failure.message)
    ]


def _position_weight(site: RewriteSite) -> float:
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
