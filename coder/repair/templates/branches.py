"""Branches that have changed places, and assignments that go wrong."""

import ast
from collections.abc import Iterator

from coder.core.trials import Change
from coder.repair.scope import own_attributes
from coder.repair.site import Rewrite, Site


def branch(site: Site) -> Iterator[Rewrite]:
    """`b if x else a` for `a if x else b`; `if` for `while` and for `elif`, and the other way round."""
    match site.node:
        case ast.IfExp(body=body, orelse=other):
            yield from site.swap(body, other, weight=0.7, summary="swap the branches of a conditional expression")
        case ast.If() as node:
            start, _ = site.source.span(node)
            if site.source.text.startswith("elif", start):
                yield Rewrite((Change(start=start, end=start + 4, text="if"),), 0.3, "ask in every case, not only in the other one")
            elif site.source.text.startswith("if", start) and not node.orelse:
                yield Rewrite((Change(start=start, end=start + 2, text="while"),), 0.25, "repeat as long as the condition holds")
        case ast.While(orelse=[]) as node:
            start, _ = site.source.span(node)
            yield Rewrite((Change(start=start, end=start + 5, text="if"),), 0.2, "do it once at most")
        case _:
            pass


def target(site: Site) -> Iterator[Rewrite]:
    """Add to what is there instead of replacing it; keep the result in the attribute, or keep what a call gives back."""
    match site.node:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
            start, end = site.source.span(target)[1], site.source.span(value)[0]
            if site.source.text[start:end].strip() == "=":
                for operator, weight in (("+=", 0.45), ("-=", 0.2), ("*=", 0.2), ("|=", 0.2)):
                    yield Rewrite((Change(start=start, end=end, text=f" {operator} "),), weight, f"assign with `{operator}`")
            if isinstance(target, ast.Name) and target.id in own_attributes(site.source, target):
                yield from site.replace(target, f"self.{target.id}", weight=0.7, summary=f"assign to `self.{target.id}`")
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as value))) as node:
            start, _ = site.source.span(node)
            name = site.source.code(value)
            yield Rewrite((Change(start=start, end=start, text=f"{name} = "),), 0.4, f"keep what the call on `{name}` gives")
        case _:
            pass
