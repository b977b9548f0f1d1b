"""Calls and definitions that have drifted apart: arguments that one has and the other has not."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.parsing import expression
from coder.python.source import Function
from coder.repair.context.donor_code import calls, visible
from coder.repair.context.scope import arguments_of, idle, local_names, most_alike, own_attributes
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
MISSING = re.compile(r"missing \d+ required [\w-]+ arguments?: (.+)")
TOO_MANY = re.compile(
    r"(\w+)\(\) takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given"
)
SHORT = re.compile(
    r"missing \d+ required|expected (?:at least |exactly )?\d+ arguments?|takes (?:at least |exactly )?\d+|must have at least"
)
DEFAULTS = ("None", "False", "()", "0", "''")
MOST_ADDED = 7
NEVER_OTHERS = frozenset(
    {"frozenset", "tuple", "object", "int", "str", "float", "compile", "getenv", "get", "Path"}
)
"""Calls that give the same again."""


def argument_added(site: Site) -> Iterator[Rewrite]:
    """An argument more: a name in scope at any place, or a keyword that other calls of the same function give."""
    node = site.node
    if isinstance(node, ast.Call):
        yield from _all_of(site, node)
    if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    short = any(failure.type == "TypeError" and SHORT.search(failure.message) for failure in site.failures)
    names = local_names(site.source, node)[:MOST_ADDED]
    for place in range(len(node.args), -1, -1) if short else (len(node.args),):
        for rank, name in enumerate(names):
            weight = (0.7 if short else 0.16) * 0.95**rank * 0.9 ** (len(node.args) - place)
            yield from _with(site, node, place, name, weight=weight)
    taken = {keyword.arg for keyword in node.keywords}
    for name in own_attributes(site.source, node)[:MOST_ADDED] if any(map(_handed_on, node.keywords)) else ():
        if name not in taken:
            yield from _with(
                site, node, len(node.args) + len(node.keywords), f"{name}=self.{name}", weight=0.3
            )
    here = visible(site.source, site.function)
    for text in dict.fromkeys(_keywords(site, node)):
        name, _, value = text.partition("=")
        reads = {item.id for item in ast.walk(expression(value)) if isinstance(item, ast.Name)}
        if name not in taken and reads <= here:
            yield from _with(site, node, len(node.args) + len(node.keywords), text, weight=0.5)


def _all_of(site: Site, node: ast.Call) -> Iterator[Rewrite]:
    """Hand on all further arguments that the function takes and does not read; give what one argument holds instead of it."""
    function, close = site.function, site.source.span(node)[1] - 1
    unread = idle(function)
    further = (
        [(one, sign) for one, sign in ((function.args.vararg, "*"), (function.args.kwarg, "**")) if one]
        if function
        else []
    )
    for one, sign in further:
        if one.arg in unread:
            text = f"{', ' if node.args or node.keywords else ''}{sign}{one.arg}"
            yield Rewrite((Change(start=close, end=close, text=text),), 0.8, f"hand on `{sign}{one.arg}`")
    match node.args:
        case [ast.Name() | ast.Attribute() | ast.Subscript() as only] if any(
            SHORT.search(failure.message) for failure in site.failures
        ):
            start, _ = site.source.span(only)
            for sign, weight in (("*", 0.9), ("**", 0.8)):
                yield Rewrite(
                    (Change(start=start, end=start, text=sign),),
                    weight,
                    f"give `{sign}{site.source.code(only)[:30]}`",
                )
        case _:
            pass


def signature(site: Site) -> Iterator[Rewrite]:
    """What a TypeError said about a call: at the call another keyword, at the definition one parameter more."""
    failures = tuple(failure for failure in site.failures if failure.type == "TypeError")
    if not failures:
        return
    match site.node:
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg in said(failures, UNEXPECTED):
                    yield from _other_keyword(site, keyword)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
            named = any(f"{function.name}()" in failure.message for failure in failures)
            if named:
                yield from _other_parameters(site, function)
        case _:
            pass


def mutable_default(site: Site) -> Iterator[Rewrite]:
    """None as the default of a parameter, and what it was made anew at the function's start."""
    function = site.node
    if not isinstance(function, Function):
        return
    given = [*function.args.posonlyargs, *function.args.args]
    pairs = zip(given[len(given) - len(function.args.defaults) :], function.args.defaults, strict=True)
    first = function.body[1] if _documented(function) and len(function.body) > 1 else function.body[0]
    indent = site.source.indent(first)
    for argument, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set) or _makes_one(default):
            (start, end), (begin, _) = site.source.span(default), site.source.span(first)
            end_of_line = site.source.line_end
            lines = f"if {argument.arg} is None:{end_of_line}{indent}    {argument.arg} = {site.source.code(default)}{end_of_line}{indent}"
            changes = Change(start=start, end=end, text="None"), Change(start=begin, end=begin, text=lines)
            if not indent.strip():
                yield Rewrite(changes, 0.9, f"make `{argument.arg}` anew in each call")


def _with(site: Site, node: ast.Call, place: int, text: str, *, weight: float) -> Iterator[Rewrite]:
    """The call with one argument more, at a place among those that it has."""
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    if place < len(given):
        at, _ = site.source.span(given[place])
        change = Change(start=at, end=at, text=f"{text}, ")
    else:
        at = site.source.span(given[-1])[1] if given else site.source.span(node)[1] - 1
        change = Change(start=at, end=at, text=f", {text}" if given else text)
    if len(given) == 1 and isinstance(given[0], ast.GeneratorExp):
        return
    yield Rewrite((change,), weight, f"pass `{text[:40]}` as well")


def _keywords(site: Site, node: ast.Call) -> Iterator[str]:
    """Keywords of the file's other calls of what is called here, with their values."""
    name = (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )
    for other in calls(site.source).get(name, ()):
        if other is not node:
            for keyword in other.keywords:
                if keyword.arg and len(value := site.source.code(keyword.value)) < 40 and "\n" not in value:
                    yield f"{keyword.arg}={value}"


def _handed_on(keyword: ast.keyword) -> bool:
    """Is it an attribute of self, given by its own name?"""
    match keyword:
        case ast.keyword(arg=name, value=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
            return name == attr
        case _:
            return False


def _other_keyword(site: Site, keyword: ast.keyword) -> Iterator[Rewrite]:
    start, end = site.source.span(keyword)
    value = site.source.code(keyword.value)
    pool = tuple(name for function in site.source.functions for name in arguments_of(function))
    for name, alike in most_alike(keyword.arg or "", pool, count=4, least=0.4):
        yield Rewrite(
            (Change(start=start, end=end, text=f"{name}={value}"),),
            0.8 + alike,
            f"pass `{name}` instead of `{keyword.arg}`",
        )
    yield Rewrite((Change(start=start, end=end, text=value),), 0.5, f"pass `{keyword.arg}` by its place")


def _other_parameters(site: Site, function: Function) -> Iterator[Rewrite]:
    code = site.source.text[site.source.span(function)[0] : site.source.span(function.body[0])[0]]
    opening = site.source.span(function)[0] + code.index("(") + 1
    parameters = function.args
    last = [*parameters.posonlyargs, *parameters.args]
    yield from _any_keywords(site, function)
    for name in said(site.failures, UNEXPECTED):
        closing = (
            site.source.span(parameters.defaults[-1] if parameters.defaults else last[-1])[1]
            if last
            else opening
        )
        for rank, default in enumerate(DEFAULTS):
            text = f"{', ' if last else ''}{name}={default}"
            yield Rewrite(
                (Change(start=closing, end=closing, text=text),),
                1.0 * 0.9**rank,
                f"let `{function.name}` take `{name}`",
            )
    too_many = any(function.name == name for name in said(site.failures, TOO_MANY))
    if too_many and site.source.class_of(function) and (not last or last[0].arg not in ("self", "cls")):
        text = "self, " if last else "self"
        yield Rewrite(
            (Change(start=opening, end=opening, text=text),), 1.5, f"let `{function.name}` take self"
        )
        indent = site.source.indent(function)
        start = site.source.span(function)[0]
        yield Rewrite(
            (Change(start=start, end=start, text=f"@staticmethod\n{indent}"),),
            1.0,
            f"make `{function.name}` a static method",
        )
    for name in {name.strip("' ") for text in said_lists(site) for name in re.split(r",| and ", text)}:
        argument = next((item for item in last if item.arg == name), None)
        if argument is not None and argument is last[len(last) - len(parameters.defaults) - 1]:
            end = site.source.span(argument)[1]
            spaced = " = " if argument.annotation else "="
            for rank, default in enumerate(DEFAULTS):
                yield Rewrite(
                    (Change(start=end, end=end, text=f"{spaced}{default}"),),
                    0.8 * 0.9**rank,
                    f"let `{name}` default to {default}",
                )


def _any_keywords(site: Site, function: Function) -> Iterator[Rewrite]:
    """Where `*args` are taken and handed on, `**kwargs` as well."""
    args = function.args.vararg
    if args is None or function.args.kwarg is not None or not said(site.failures, UNEXPECTED):
        return
    taken = site.source.span(args)[1]
    handed = [
        argument
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Starred)
    ]
    ends = [site.source.span(item)[1] for item in handed if site.source.code(item) == f"*{args.arg}"]
    changes = tuple(Change(start=end, end=end, text=", **kwargs") for end in sorted({taken, *ends}))
    yield Rewrite(changes, 1.3, f"let `{function.name}` take and hand on `**kwargs`")


def said_lists(site: Site) -> list[str]:
    return [match[1] for failure in site.failures for match in MISSING.finditer(failure.message)]


def _documented(function: Function) -> bool:
    return ast.get_docstring(function, clean=False) is not None


def _makes_one(default: ast.expr) -> bool:
    match default:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in NEVER_OTHERS
        case _:
            return False
