"""Templates for the signatures of functions and their decorators."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource, find_nodes, parse_expression
from coder.repair.generators.donor_code import callee_name, calls_by_callee, names_in_scope
from coder.repair.generators.names import find_in_messages
from coder.repair.generators.site import (
    Rewrite,
    RewriteSite,
    first_importable_statement,
    local_names,
    module_names,
    most_similar_names,
    parameter_names,
    parameters_never_read,
    replace_span,
    self_attribute_names,
)

# Mismatches between calls and function signatures.

UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
MISSING = re.compile(r"missing \d+ required [\w-]+ arguments?: (.+)")
TOO_MANY = re.compile(
    r"(\w+)\(\) takes (?:from \d+ to )?\d+ positional arguments? but \d+ (?:was|were) given"
)
TOO_FEW_ARGUMENTS = re.compile(
    r"missing \d+ required|expected (?:at least |exactly )?\d+ arguments?|takes (?:at least |exactly )?\d+"
    r"|must have at least"
)
DEFAULTS = ("None", "False", "()", "0", "''")
MOST_ADDED = 7
IMMUTABLE_RESULTS = frozenset(
    {"frozenset", "tuple", "object", "int", "str", "float", "compile", "getenv", "get", "Path"}
)
"""Calls that return an immutable or the same value each time."""


def argument_added(site: RewriteSite) -> Iterator[Rewrite]:
    """Add an argument: a name in scope, or a keyword that other calls of the function pass."""
    node = site.node
    if isinstance(node, ast.Call):
        yield from _unpack_arguments(site, node)
    if not isinstance(node, ast.Call) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    lacks_arguments = any(
        failure.type == "TypeError" and TOO_FEW_ARGUMENTS.search(failure.message) for failure in site.failures
    )
    names = local_names(site.source, node)[:MOST_ADDED]
    for place in range(len(node.args), -1, -1) if lacks_arguments else (len(node.args),):
        for rank, name in enumerate(names):
            weight = (0.7 if lacks_arguments else 0.16) * 0.95**rank * 0.9 ** (len(node.args) - place)
            yield from _insert_argument(site, node, place, name, weight=weight)
    taken_names = {keyword.arg for keyword in node.keywords}
    for name in (
        self_attribute_names(site.source, node)[:MOST_ADDED]
        if any(map(_is_own_attribute, node.keywords))
        else ()
    ):
        if name not in taken_names:
            yield from _insert_argument(
                site, node, len(node.args) + len(node.keywords), f"{name}=self.{name}", weight=0.3
            )
    visible_names = names_in_scope(site.source, site.function)
    for text in dict.fromkeys(_keywords_of_other_calls(site, node)):
        name, _, value = text.partition("=")
        reads = {descendant.id for descendant in find_nodes(parse_expression(value), ast.Name)}
        if name not in taken_names and reads <= visible_names:
            yield from _insert_argument(site, node, len(node.args) + len(node.keywords), text, weight=0.5)


def _unpack_arguments(site: RewriteSite, node: ast.Call) -> Iterator[Rewrite]:
    """Pass on unused `*args` and `**kwargs`, or unpack a single argument."""
    function, close = site.function, site.span(node)[1] - 1
    unread_names = parameters_never_read(function)
    variadic = (
        [
            (parameter, sign)
            for parameter, sign in ((function.args.vararg, "*"), (function.args.kwarg, "**"))
            if parameter
        ]
        if function
        else []
    )
    for parameter, sign in variadic:
        if parameter.arg in unread_names:
            text = f"{', ' if node.args or node.keywords else ''}{sign}{parameter.arg}"
            yield replace_span(close, close, text, weight=0.8, summary=f"pass on `{sign}{parameter.arg}`")
    match node.args:
        case [ast.Name() | ast.Attribute() | ast.Subscript() as only] if any(
            TOO_FEW_ARGUMENTS.search(failure.message) for failure in site.failures
        ):
            start, _ = site.span(only)
            for sign, weight in (("*", 0.9), ("**", 0.8)):
                yield replace_span(
                    start, start, sign, weight=weight, summary=f"pass `{sign}{site.text_of(only)[:30]}`"
                )


def signature(site: RewriteSite) -> Iterator[Rewrite]:
    """Fix the call or the definition that a TypeError names: another keyword, or another parameter."""
    failures = tuple(failure for failure in site.failures if failure.type == "TypeError")
    if not failures:
        return
    match site.node:
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg in find_in_messages(failures, UNEXPECTED):
                    yield from _replace_keyword(site, keyword)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function:
            is_named = any(f"{function.name}()" in failure.message for failure in failures)
            if is_named:
                yield from _change_parameters(site, function)


def mutable_default(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a mutable default with None, and create the value at the start of the function."""
    function = site.node
    if not isinstance(function, Function):
        return
    parameters = [*function.args.posonlyargs, *function.args.args]
    pairs = zip(
        parameters[len(parameters) - len(function.args.defaults) :], function.args.defaults, strict=True
    )
    first = function.body[1] if _has_docstring(function) and len(function.body) > 1 else function.body[0]
    indent = site.source.indent(first)
    for argument, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set) or _creates_mutable(default):
            (start, end), (first_start, _) = site.span(default), site.span(first)
            end_of_line = site.source.line_end
            lines = (
                f"if {argument.arg} is None:{end_of_line}{indent}    "
                f"{argument.arg} = {site.text_of(default)}{end_of_line}{indent}"
            )
            changes = (
                TextChange(start=start, end=end, text="None"),
                TextChange(start=first_start, end=first_start, text=lines),
            )
            if not indent.strip():
                yield Rewrite(changes, 0.9, f"create the default of `{argument.arg}` in each call")


def _insert_argument(
    site: RewriteSite, node: ast.Call, place: int, text: str, *, weight: float
) -> Iterator[Rewrite]:
    """Add an argument to a call at a position among the existing ones."""
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    if place < len(arguments):
        position, _ = site.span(arguments[place])
        change = TextChange(start=position, end=position, text=f"{text}, ")
    else:
        position = site.span(arguments[-1])[1] if arguments else site.span(node)[1] - 1
        change = TextChange(start=position, end=position, text=f", {text}" if arguments else text)
    if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
        return
    yield Rewrite((change,), weight, f"also pass `{text[:40]}`")


def _keywords_of_other_calls(site: RewriteSite, node: ast.Call) -> Iterator[str]:
    """Yield keyword arguments, with values, that other calls of the same callee in the file pass."""
    for other in calls_by_callee(site.source).get(callee_name(node), ()):
        if other is not node:
            for keyword in other.keywords:
                if keyword.arg and len(value := site.text_of(keyword.value)) < 40 and "\n" not in value:
                    yield f"{keyword.arg}={value}"


def _is_own_attribute(keyword: ast.keyword) -> bool:
    """Tell whether a keyword argument passes an attribute of self under its own name."""
    match keyword:
        case ast.keyword(arg=name, value=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
            return name == attr
    return False


def _replace_keyword(site: RewriteSite, keyword: ast.keyword) -> Iterator[Rewrite]:
    start, end = site.span(keyword)
    value = site.text_of(keyword.value)
    pool = tuple(name for function in site.source.functions for name in parameter_names(function))
    for name, alike in most_similar_names(keyword.arg or "", pool, max_count=4, min_similarity=0.4):
        yield replace_span(
            start,
            end,
            f"{name}={value}",
            weight=0.8 + alike,
            summary=f"pass `{name}` instead of `{keyword.arg}`",
        )
    yield replace_span(start, end, value, weight=0.5, summary=f"pass `{keyword.arg}` by position")


def _change_parameters(site: RewriteSite, function: Function) -> Iterator[Rewrite]:
    code = site.source.text[site.span(function)[0] : site.span(function.body[0])[0]]
    open_parenthesis = site.span(function)[0] + code.index("(") + 1
    parameters = function.args
    positional = [*parameters.posonlyargs, *parameters.args]
    yield from _accept_keywords(site, function)
    for name in find_in_messages(site.failures, UNEXPECTED):
        insert_at = (
            site.span(parameters.defaults[-1] if parameters.defaults else positional[-1])[1]
            if positional
            else open_parenthesis
        )
        for rank, default in enumerate(DEFAULTS):
            text = f"{', ' if positional else ''}{name}={default}"
            yield replace_span(
                insert_at,
                insert_at,
                text,
                weight=1.0 * 0.9**rank,
                summary=f"accept `{name}` in `{function.name}`",
            )
    too_many = any(function.name == name for name in find_in_messages(site.failures, TOO_MANY))
    if (
        too_many
        and site.source.owner_class(function)
        and (not positional or positional[0].arg not in ("self", "cls"))
    ):
        text = "self, " if positional else "self"
        yield replace_span(
            open_parenthesis, open_parenthesis, text, weight=1.5, summary=f"add `self` to `{function.name}`"
        )
        indent = site.source.indent(function)
        start = site.span(function)[0]
        yield replace_span(
            start,
            start,
            f"@staticmethod\n{indent}",
            weight=1.0,
            summary=f"make `{function.name}` a static method",
        )
    for name in {
        name.strip("' ") for text in find_missing_arguments(site) for name in re.split(r",| and ", text)
    }:
        argument = next((parameter for parameter in positional if parameter.arg == name), None)
        if argument is not None and argument is positional[len(positional) - len(parameters.defaults) - 1]:
            end = site.span(argument)[1]
            equals = " = " if argument.annotation else "="
            for rank, default in enumerate(DEFAULTS):
                yield replace_span(
                    end,
                    end,
                    f"{equals}{default}",
                    weight=0.8 * 0.9**rank,
                    summary=f"default `{name}` to {default}",
                )


def _accept_keywords(site: RewriteSite, function: Function) -> Iterator[Rewrite]:
    """Accept and pass on `**kwargs` where `*args` are."""
    args = function.args.vararg
    if args is None or function.args.kwarg is not None or not find_in_messages(site.failures, UNEXPECTED):
        return
    args_end = site.span(args)[1]
    starred = [
        argument
        for node in find_nodes(function, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Starred)
    ]
    ends = [
        site.span(argument_node)[1]
        for argument_node in starred
        if site.text_of(argument_node) == f"*{args.arg}"
    ]
    changes = tuple(TextChange(start=end, end=end, text=", **kwargs") for end in sorted({args_end, *ends}))
    yield Rewrite(changes, 1.3, f"accept and pass on `**kwargs` in `{function.name}`")


def find_missing_arguments(site: RewriteSite) -> list[str]:
    return [match[1] for failure in site.failures for match in MISSING.finditer(failure.message)]


def _has_docstring(function: Function) -> bool:
    return ast.get_docstring(function, clean=False) is not None


def _creates_mutable(default: ast.expr) -> bool:
    match default:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name not in IMMUTABLE_RESULTS
    return False


# Missing and superfluous decorators.

MOST = 4
QUOTED_NAME_WEIGHT = 1.5
"""Weight of `wraps` if a failure message quotes the name of the wrapper."""
SINGLE_USE_SUFFIXES = ("setter", "getter", "deleter", "overload", "register")
"""Decorators with such a suffix concern a single function."""


def decorated(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a decorator: `@property`, `@staticmethod`, `@wraps(f)`, or one of its siblings."""
    node = site.node
    if not isinstance(node, Function):
        return
    present = [site.text_of(decorator) for decorator in node.decorator_list]
    is_quoted = any(f"'{node.name}'" in failure.message for failure in site.failures)
    for text, base_weight in _decorator_weights(site.source, node).items():
        weight = QUOTED_NAME_WEIGHT if is_quoted and "wraps(" in text else base_weight
        if text not in present:
            for rewrite in site.insert_before(
                node, [f"@{text}"], weight=weight, summary=f"add the decorator `{text}`"
            ):
                yield replace(rewrite, changes=(*_missing_import(site, text), *rewrite.changes))


def undecorated(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove one of the function's decorators."""
    for decorator in site.node.decorator_list if isinstance(site.node, Function) else ():
        text = site.text_of(decorator)
        start, end = _line_of(decorator, site.source)
        if site.source.text[start:end].strip() == f"@{text}":
            yield replace_span(start, end, "", weight=0.35, summary=f"remove the decorator `{text[:40]}`")


def _decorator_weights(source: PythonSource, function: Function) -> dict[str, float]:
    owner, parameters = source.owner_class(function), [*function.args.posonlyargs, *function.args.args]
    weights = {text: 0.4 * 0.9**rank for rank, text in enumerate(_common_decorators(source, owner)[:MOST])}
    if owner:
        first = parameters[0].arg if parameters else ""
        by_first_parameter = {
            "self": ("property", 0.4) if len(parameters) == 1 else None,
            "cls": ("classmethod", 0.8),
        }.get(first, ("staticmethod", 0.6))
        weights |= (
            {by_first_parameter[0]: max(by_first_parameter[1], weights.get(by_first_parameter[0], 0.0))}
            if by_first_parameter
            else {}
        )
    outer = None if owner else source.enclosing_function(source.parents[function])
    wraps = "wraps" if "wraps" in module_names(source) else "functools.wraps"
    if outer:
        called_names = {
            node.func.id for node in find_nodes(function, ast.Call) if isinstance(node.func, ast.Name)
        }
        for name in parameter_names(outer):
            if name in called_names:
                weights[f"{wraps}({name})"] = 0.7
    return weights


def _missing_import(site: RewriteSite, text: str) -> Iterator[TextChange]:
    """Yield the import of functools if the decorator needs it and the module lacks it."""
    if text.startswith("functools.") and "functools" not in module_names(site.source):
        start, _ = site.span(first_importable_statement(site.source))
        yield TextChange(start=start, end=start, text=f"import functools{site.source.line_end}")


@lru_cache(maxsize=256)
def _common_decorators(source: PythonSource, owner: ast.ClassDef | None) -> tuple[str, ...]:
    """Return the decorators used in the class, or on the file's functions, most frequent first."""
    nodes = (
        decorator_node
        for function in source.functions
        if source.owner_class(function) is owner
        for decorator_node in function.decorator_list
    )
    plain = (
        decorator
        for decorator in nodes
        if not (isinstance(decorator, ast.Attribute) and decorator.attr in SINGLE_USE_SUFFIXES)
    )
    return tuple(
        text
        for text, _ in Counter(map(source.text_of, plain)).most_common()
        if not text.endswith(SINGLE_USE_SUFFIXES) and "\n" not in text
    )


def _line_of(decorator: ast.expr, source: PythonSource) -> tuple[int, int]:
    """Return the span from the start of a decorator's line to the start of the next line."""
    start, end = source.span(decorator)
    first = source.text.rfind("\n", 0, start) + 1
    following = source.text.find("\n", end)
    return first, following + 1 if following >= 0 else len(source.text)
