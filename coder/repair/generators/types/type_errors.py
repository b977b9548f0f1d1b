"""What failures say of a value's type or form, and how to make of it what was meant."""

import ast
import re
from collections.abc import Callable, Iterator

from coder.core.ports.repair import Change
from coder.repair.context.scope import module_names
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

LAZY = r"(dict_keys|dict_values|dict_items|map|filter|zip|generator|reversed|list_reverseiterator|set)"
NOISE = re.compile(r"(\d\.\d{12,})")
"""A number as binary fractions leave it."""
ASYNC = re.compile(
    r"('async_generator' object is not iterable|'async for' requires|asynchronous context manager|context manager protocol)"
)
WEIGHT = 1.2


def meant_as(site: Site) -> Iterator[Rewrite]:
    """`list(x)[0]` for `x[0]` of what has no places, `x + [y]` for `x + y`, `int(float(x))` for `int(x)`, near for equal, `async for`."""
    for pattern, stands, form in FORMS:
        if said(site.failures, pattern) and stands(site):
            yield from _put(site, form)
    yield from _nearly(site)
    match site.node:
        case ast.For() | ast.With() if isinstance(site.function, ast.AsyncFunctionDef) and said(
            site.failures, ASYNC
        ):
            start, _ = site.source.span(site.node)
            yield Rewrite(
                (Change(start=start, end=start, text="async "),), WEIGHT, "wait for each, or for it"
            )
        case _:
            pass


def _put(site: Site, form: str) -> Iterator[Rewrite]:
    node = site.node
    code = site.source.code(node)
    (start, end), text = site.source.span(node), site.source.text
    if isinstance(node, ast.GeneratorExp) and isinstance(
        site.parent, ast.Call
    ):  # its parentheses are the call's
        yield Rewrite((Change(start=start, end=end, text=f"([{code[1:-1]}])"),), WEIGHT, "make a list of it")
    elif form.startswith("("):
        enclosed = text[start - 1 : start] == "(" and text[end : end + 1] == ")"
        new = form.format(code)[1:-1] if enclosed else form.format(code)
        yield Rewrite((Change(start=start, end=end, text=new),), WEIGHT, f"use `{form.format(code)[:40]}`")
    else:
        yield from site.replace(
            node, form.format(code), weight=WEIGHT, summary=f"use `{form.format(code)[:40]}`"
        )


def _nearly(site: Site) -> Iterator[Rewrite]:
    match site.node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) if said(site.failures, NOISE):
            one, other = site.source.code(left), site.source.code(right)
            new = (
                f"math.isclose({one}, {other})"
                if "math" in module_names(site.source)
                else f"abs({one} - ({other})) < 1e-9"
            )
            yield from site.replace(site.node, new, weight=0.6, summary="ask whether they are nearly equal")
        case _:
            pass


def _taken_of(site: Site) -> bool:
    return isinstance(site.parent, ast.Subscript) and site.parent.value is site.node


def _given_to(*names: str) -> Callable[[Site], bool]:
    def stands(site: Site) -> bool:
        match site.parent:
            case ast.Call(func=ast.Name(id=name), args=[given, *_]):
                return name in names and given is site.node
            case _:
                return False

    return stands


def _added(site: Site) -> bool:
    match site.parent:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return site.node in (left, right)
        case ast.AugAssign(op=ast.Add(), value=value):
            return site.node is value
        case _:
            return False


def _given_back(site: Site) -> bool:
    return isinstance(site.parent, ast.Return)


FORMS: tuple[tuple[re.Pattern[str], Callable[[Site], bool], str], ...] = (
    (re.compile(rf"'{LAZY}' object is not subscriptable"), _taken_of, "list({})"),
    (re.compile(rf"object of type '{LAZY}' has no len"), _given_to("len"), "list({})"),
    (re.compile(r"(can only concatenate list)"), _added, "[{}]"),
    (re.compile(r"(can only concatenate tuple)"), _added, "({},)"),
    (re.compile(r"unhashable type: '(list)'"), _given_to("set", "frozenset"), "map(tuple, {})"),
    (re.compile(r"(returned non-iterator)"), _given_back, "iter({})"),
    (
        re.compile(r"invalid literal for int\(\) with base 10: ['\"](-?\d*\.\d+)"),
        _given_to("int"),
        "float({})",
    ),
    (re.compile(r"(?:to float|base 10): ['\"](-?\d+,\d)"), _given_to("int", "float"), "{}.replace(',', '')"),
)
