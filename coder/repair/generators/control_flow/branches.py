"""Swapped branches and wrong assignments."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from coder.core.ports import TextChange
from coder.repair.context.scope import parameter_names, self_attribute_names
from coder.repair.context.site import Rewrite, RewriteSite

MOST_BRANCHES = 4


def branch(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap the branches of a conditional expression, or `if` with `while` or `elif`."""
    match site.node:
        case ast.IfExp(body=body, orelse=other):
            yield from site.swap_expressions(
                body, other, weight=0.7, summary="swap the branches of a conditional expression"
            )
        case ast.If() as node:
            start, _ = site.source.span(node)
            if site.source.text.startswith("elif", start):
                yield Rewrite(
                    (TextChange(start=start, end=start + 4, text="if"),),
                    0.3,
                    "use `if` instead of `elif`",
                )
            elif site.source.text.startswith("if", start) and not node.orelse:
                yield Rewrite(
                    (TextChange(start=start, end=start + 2, text="while"),),
                    0.25,
                    "use `while` instead of `if`",
                )
        case ast.While(orelse=[]) as node:
            start, _ = site.source.span(node)
            yield Rewrite(
                (TextChange(start=start, end=start + 5, text="if"),), 0.2, "use `if` instead of `while`"
            )
        case _:
            pass


def branch_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Move a later condition or exception handler to the front."""
    match site.node:
        case ast.If() as first:
            chain = [first]
            while (
                len(chain) < MOST_BRANCHES
                and len(chain[-1].orelse) == 1
                and isinstance(other := chain[-1].orelse[0], ast.If)
            ):
                chain.append(other)
            for distance, other in enumerate(chain[1:]):
                if site.source.text.startswith("elif", site.source.span(other)[0]):
                    yield from _swap_branches(site, first, other, 0.5 * 0.8**distance)
        case ast.Try(handlers=[_, _, *_] as handlers):
            for handler, following in pairwise(handlers):
                yield from site.swap_expressions(
                    handler, following, weight=0.5, summary="reorder the exception handlers"
                )
        case _:
            pass


def _swap_branches(site: RewriteSite, first: ast.If, other: ast.If, weight: float) -> Iterator[Rewrite]:
    """Swap two branches with their conditions."""
    places = [
        site.source.span(first.test),
        _block_span(site, first.body),
        site.source.span(other.test),
        _block_span(site, other.body),
    ]
    texts = [site.source.text[start:end] for start, end in (*places[2:], *places[:2])]
    changes = tuple(
        TextChange(start=start, end=end, text=text) for (start, end), text in zip(places, texts, strict=True)
    )
    yield Rewrite(changes, weight, f"check `{texts[0][:40]}` first")


def _block_span(site: RewriteSite, block: list[ast.stmt]) -> tuple[int, int]:
    return site.source.span(block[0])[0], site.source.span(block[-1])[1]


def _method_parameters(site: RewriteSite) -> tuple[str, ...]:
    """Return the parameters of a method: the attribute of the same name may be meant."""
    return parameter_names(site.function) if site.function and site.source.owner_class(site.function) else ()


def target(site: RewriteSite) -> Iterator[Rewrite]:
    """Change an assignment: augment it, assign to the attribute, or assign the result of a call."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
            start, end = site.source.span(target)[1], site.source.span(value)[0]
            match value:
                case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                    change = TextChange(
                        start=start,
                        end=site.source.span(operand)[0],
                        text=" += " if isinstance(sign, ast.UAdd) else " -= ",
                    )
                    yield Rewrite((change,), 0.7, "move the sign before the `=`")
                case _:
                    pass
            if site.source.text[start:end].strip() == "=":
                for operator, weight in (("+=", 0.45), ("-=", 0.2), ("*=", 0.2), ("|=", 0.2)):
                    yield Rewrite(
                        (TextChange(start=start, end=end, text=f" {operator} "),),
                        weight,
                        f"assign with `{operator}`",
                    )
            if isinstance(target, ast.Name) and target.id in {
                *self_attribute_names(site.source, target),
                *_method_parameters(site),
            }:
                yield from site.replace_expression(
                    target, f"self.{target.id}", weight=0.7, summary=f"assign to `self.{target.id}`"
                )
        case (
            ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as value))) as node
        ):
            start, _ = site.source.span(node)
            name = site.source.text_of(value)
            yield Rewrite(
                (TextChange(start=start, end=start, text=f"{name} = "),),
                0.4,
                f"assign the result of the call to `{name}`",
            )
        case _:
            pass
