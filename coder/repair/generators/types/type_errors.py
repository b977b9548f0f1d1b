"""Conversions that fix the type or format that a failure complains about."""

import ast
import re
from collections.abc import Callable, Iterator

from coder.core.ports import TextChange
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

LAZY = r"(dict_keys|dict_values|dict_items|map|filter|zip|generator|reversed|list_reverseiterator|set)"
ROUNDING_ERROR = re.compile(r"(\d\.\d{12,})")
"""A number with the rounding error of binary fractions."""
ASYNC_ERROR = re.compile(
    r"('async_generator' object is not iterable|'async for' requires|asynchronous context manager"
    r"|context manager protocol)"
)
WEIGHT = 1.2


def meant_as(site: RewriteSite) -> Iterator[Rewrite]:
    """Convert a value to the type it is used as: `list(x)[0]` for `x[0]`, `x + [y]` for `x + y`."""
    for pattern, applies, form in CONVERSION_FORMS:
        if find_in_messages(site.failures, pattern) and applies(site):
            yield from _apply_form(site, form)
    yield from _compare_floats(site)
    match site.node:
        case ast.For() | ast.With() if isinstance(site.function, ast.AsyncFunctionDef) and find_in_messages(
            site.failures, ASYNC_ERROR
        ):
            start, _ = site.source.span(site.node)
            yield Rewrite(
                (TextChange(start=start, end=start, text="async "),), WEIGHT, "make the statement async"
            )
        case _:
            pass


def _apply_form(site: RewriteSite, form: str) -> Iterator[Rewrite]:
    node = site.node
    code = site.source.text_of(node)
    (start, end), text = site.source.span(node), site.source.text
    if isinstance(node, ast.GeneratorExp) and isinstance(
        site.parent, ast.Call
    ):  # the parentheses belong to the call
        yield Rewrite(
            (TextChange(start=start, end=end, text=f"([{code[1:-1]}])"),), WEIGHT, "convert to a list"
        )
    elif form.startswith("("):
        is_parenthesized = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
        new = form.format(code)[1:-1] if is_parenthesized else form.format(code)
        yield Rewrite(
            (TextChange(start=start, end=end, text=new),), WEIGHT, f"use `{form.format(code)[:40]}`"
        )
    else:
        yield from site.replace_expression(
            node, form.format(code), weight=WEIGHT, summary=f"use `{form.format(code)[:40]}`"
        )


def _compare_floats(site: RewriteSite) -> Iterator[Rewrite]:
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if find_in_messages(
            site.failures, ROUNDING_ERROR
        ):
            left_code, right_code = site.source.text_of(left), site.source.text_of(right)
            new = (
                f"math.isclose({left_code}, {right_code})"
                if "math" in module_names(site.source)
                else f"abs({left_code} - ({right_code})) < 1e-9"
            )
            yield from site.replace_expression(
                site.node, new, weight=0.6, summary="compare floats approximately"
            )
        case _:
            pass


def _is_subscripted(site: RewriteSite) -> bool:
    return isinstance(site.parent, ast.Subscript) and site.parent.value is site.node


def _is_argument_of(*names: str) -> Callable[[RewriteSite], bool]:
    def applies(site: RewriteSite) -> bool:
        match site.parent:
            case ast.Call(func=ast.Name(id=name), args=[argument, *_]):
                return name in names and argument is site.node
            case _:
                return False

    return applies


def _is_added(site: RewriteSite) -> bool:
    match site.parent:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return site.node in (left, right)
        case ast.AugAssign(op=ast.Add(), value=value):
            return site.node is value
        case _:
            return False


def _is_returned(site: RewriteSite) -> bool:
    return isinstance(site.parent, ast.Return)


CONVERSION_FORMS: tuple[tuple[re.Pattern[str], Callable[[RewriteSite], bool], str], ...] = (
    (re.compile(rf"'{LAZY}' object is not subscriptable"), _is_subscripted, "list({})"),
    (re.compile(rf"object of type '{LAZY}' has no len"), _is_argument_of("len"), "list({})"),
    (re.compile(r"(can only concatenate list)"), _is_added, "[{}]"),
    (re.compile(r"(can only concatenate tuple)"), _is_added, "({},)"),
    (re.compile(r"unhashable type: '(list)'"), _is_argument_of("set", "frozenset"), "map(tuple, {})"),
    (re.compile(r"(returned non-iterator)"), _is_returned, "iter({})"),
    (
        re.compile(r"invalid literal for int\(\) with base 10: ['\"](-?\d*\.\d+)"),
        _is_argument_of("int"),
        "float({})",
    ),
    (
        re.compile(r"(?:to float|base 10): ['\"](-?\d+,\d)"),
        _is_argument_of("int", "float"),
        "{}.replace(',', '')",
    ),
)
