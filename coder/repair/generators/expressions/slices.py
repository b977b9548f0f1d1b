"""Wrong slice bounds, missing and superfluous slices, the wrong end of a sequence."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.repair.context.site import ATOMIC_EXPRESSIONS, Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

TOO_MANY_VALUES = re.compile(r"too many values to unpack \(expected (\d+)")

NEUTRAL_ELEMENTS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "0"),
    ast.Sub: ("-", "0"),
    ast.Mult: ("*", "1"),
}
INITIAL_VALUES = {
    "append": "[]",
    "extend": "[]",
    "insert": "[]",
    "add": "set()",
    "update": "{}",
    "setdefault": "{}",
    "get": "{}",
}
"""Initial value of a missing entry, by the method that is called on it."""


def slicing(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop, add or move a slice bound; use `[-1]` for `[0]`; reverse the step."""
    node = site.node
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
        return
    value = site.source.text_of(node.value)
    match node.slice:
        case ast.Slice() as bounds:
            for text, weight in _other_bounds(site, bounds):
                yield from site.replace_expression(
                    node,
                    f"{value}[{text}]",
                    weight=weight,
                    summary=f"use `[{text}]` instead of `[{_slice_text(site, bounds)}]`",
                )
            yield from site.replace_expression(node, value, weight=0.3, summary=f"use all of `{value[:40]}`")
        case ast.Constant(value=0):
            yield from site.replace_expression(
                node.slice, "-1", weight=0.7, summary="use the last element instead of the first"
            )
            if any(failure.type == "IndexError" for failure in site.failures):
                yield from site.replace_expression(
                    node.slice, ":1", weight=0.6, summary="use at most the first element"
                )
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            yield from site.replace_expression(
                node.slice, "0", weight=0.7, summary="use the first element instead of the last"
            )
        case _:
            pass


def slice_missing(site: RewriteSite) -> Iterator[Rewrite]:
    """Drop the first or last element of a sequence, or reverse it."""
    node = site.node
    match node, site.parent:
        case ast.Name() | ast.Attribute(), ast.For(iter=iterable) | ast.comprehension(
            iter=iterable
        ) | ast.Return(value=iterable) if iterable is node:
            pass
        case ast.Name() | ast.Attribute(), ast.Call(args=arguments) if node in arguments:
            pass
        case _:
            return
    for text, weight in (("[1:]", 0.35), ("[:-1]", 0.35), ("[::-1]", 0.3)):
        yield from site.replace_expression(
            node, f"{site.source.text_of(node)}{text}", weight=weight, summary=f"slice with `{text}`"
        )


def unpacked(site: RewriteSite) -> Iterator[Rewrite]:
    """Slice before unpacking: `a, b = x[:2]` for `a, b = x` if there were too many values."""
    match site.node:
        case ast.Assign(targets=[ast.Tuple(elts=names) | ast.List(elts=names)], value=value):
            count = len(names)
        case _:
            return
    if str(count) in find_in_messages(site.failures, TOO_MANY_VALUES):
        code = site.source.text_of(value)
        operand = code if isinstance(value, ATOMIC_EXPRESSIONS) else f"({code})"
        for text, weight in ((f"[:{count}]", 0.9), (f"[-{count}:]", 0.5)):
            yield from site.replace_expression(
                value, f"{operand}{text}", weight=weight, summary=f"slice with `{text}`"
            )


def lookup(site: RewriteSite) -> Iterator[Rewrite]:
    """Allow for a missing key after a KeyError: `x.get(key)`, `x.setdefault(key, [])`."""
    node = site.node
    is_key_missing = any(failure.type == "KeyError" for failure in site.failures)
    if is_key_missing:
        yield from _initialize_entry(site)
    if (
        is_key_missing
        and isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and not isinstance(node.slice, ast.Slice)
    ):
        value, key = site.source.text_of(node.value), site.source.text_of(node.slice)
        for default, weight in (("", 0.6), (", 0", 0.4), (", []", 0.3), (", ''", 0.3)):
            yield from site.replace_expression(
                node,
                f"{value}.get({key}{default})",
                weight=weight,
                summary=f"allow `{key[:30]}` to be missing",
            )


def _initialize_entry(site: RewriteSite) -> Iterator[Rewrite]:
    """Initialize what is counted or collected under a key."""
    match site.node, site.parent:
        case ast.AugAssign(target=ast.Subscript(value=table, slice=key), op=op, value=value), _ if (
            type(op) in NEUTRAL_ELEMENTS
        ):
            start, end = site.source.span(site.node)[0], site.source.span(value)[0]
            sign, neutral = NEUTRAL_ELEMENTS[type(op)]
            table_code, key_code = site.source.text_of(table), site.source.text_of(key)
            text = f"{table_code}[{key_code}] = {table_code}.get({key_code}, {neutral}) {sign} "
            yield Rewrite(
                (TextChange(start=start, end=end, text=text),),
                0.9,
                f"start with {neutral} if `{key_code[:30]}` is missing",
            )
        case ast.Subscript(value=table, slice=key), ast.Attribute(attr=method) if method in INITIAL_VALUES:
            arguments = f"{site.source.text_of(key)}, {INITIAL_VALUES[method]}"
            text = f"{site.source.text_of(table)}.setdefault({arguments})"
            yield from site.replace_expression(
                site.node,
                text,
                weight=0.9,
                summary=f"start with `{INITIAL_VALUES[method]}` if the key is missing",
            )
        case _:
            pass


def _other_bounds(site: RewriteSite, bounds: ast.Slice) -> Iterator[tuple[str, float]]:
    lower, upper, step = (
        site.source.text_of(part) if part else "" for part in (bounds.lower, bounds.upper, bounds.step)
    )
    tail = f":{step}" if step else ""
    if lower:
        yield f":{upper}{tail}", 0.5
        yield f":{lower}{tail}", 0.55 if not upper else 0.3
    if upper:
        yield f"{lower}:{tail}", 0.5
        yield f"{upper}:{tail}", 0.55 if not lower else 0.3
    if lower and upper:
        yield f"{upper}:{lower}{tail}", 0.3
    if not lower:
        yield f"1:{upper}{tail}", 0.5
    if not upper:
        yield f"{lower}:-1{tail}", 0.5
    if step:
        reversed_step = step[1:] if step.startswith("-") else f"-{step}"
        yield f"{lower}:{upper}:{reversed_step}", 0.4
        yield f"{lower}:{upper}", 0.4
    elif not lower and not upper:
        yield "::-1", 0.4


def _slice_text(site: RewriteSite, bounds: ast.Slice) -> str:
    lower, upper, step = (
        site.source.text_of(part) if part else "" for part in (bounds.lower, bounds.upper, bounds.step)
    )
    return f"{lower}:{upper}" + (f":{step}" if step else "")
