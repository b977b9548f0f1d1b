"""Uses of the None returned by in-place methods, and of the iterator returned by `reversed`."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

IN_PLACE_METHODS = frozenset(
    {"append", "extend", "insert", "add", "update", "remove", "discard", "clear", "sort", "reverse"}
)
IMMUTABLE_ERROR = re.compile(r"'(?:str|tuple|bytes)' object has no attribute '(reverse|sort)'")
ITERATOR_MENTION = re.compile(r"(reversed object|list_reverseiterator)")


def in_place(site: RewriteSite) -> Iterator[Rewrite]:
    """Fix uses of in-place methods, such as `sorted(x)` for the value of `x.sort()`.

    Also `x.append(y)` for `x = x.append(y)`, and `x[::-1]` for `reversed(x)`.
    """
    code = site.source.text_of
    match site.node:
        case ast.Call(func=ast.Attribute(value=value, attr="sort"), keywords=keywords) if _is_used(
            site
        ) or find_in_messages(site.failures, IMMUTABLE_ERROR):
            options = "".join(f", {code(keyword)}" for keyword in keywords)
            yield from site.replace_expression(
                site.node,
                f"sorted({code(value)}{options})",
                weight=1.0,
                summary="use `sorted`, which returns a list",
            )
        case ast.Call(func=ast.Attribute(value=value, attr="reverse")) if _is_used(site) or find_in_messages(
            site.failures, IMMUTABLE_ERROR
        ):
            yield from site.replace_expression(
                site.node, f"{code(value)}[::-1]", weight=1.0, summary="reverse with a slice"
            )
        case ast.Call(func=ast.Name(id="reversed"), args=[value]):
            weight = 1.0 if find_in_messages(site.failures, ITERATOR_MENTION) else 0.4
            for text, text_weight in (
                (f"{code(value)}[::-1]", weight),
                (f"''.join(reversed({code(value)}))", 0.8 * weight),
            ):
                yield from site.replace_expression(
                    site.node, text, weight=text_weight, summary=f"use `{text[:40]}`"
                )
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute()], value=ast.Call(func=ast.Attribute(attr=name)) as call
        ) if name in IN_PLACE_METHODS:
            start, end = site.source.span(site.node)[0], site.source.span(call)[0]
            yield Rewrite(
                (TextChange(start=start, end=end, text=""),),
                1.0,
                f"do not assign the None that `{name}` returns",
            )
        case ast.Return(value=ast.Call(func=ast.Attribute(value=value, attr=name)) as call) if (
            name in IN_PLACE_METHODS
        ):
            lines = [code(call), f"return {code(value)}"]
            start, end = site.source.span(site.node)
            indent = site.source.indent(site.node)
            if not indent.strip():
                text = f"{site.source.line_end}{indent}".join(lines)
                yield Rewrite(
                    (TextChange(start=start, end=end, text=text),),
                    0.9,
                    f"return `{code(value)[:40]}` after `{name}`",
                )
        case _:
            pass


def _is_used(site: RewriteSite) -> bool:
    """Tell whether the result of the call is used."""
    return not isinstance(site.parent, ast.Expr)
