"""Methods that are referenced but not called, or called by mistake."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

WITHOUT_ARGUMENTS = re.compile(
    r"capitalize|casefold|clear|close|copy|decode|digest|encode|exists|hexdigest|is_dir|is_file|isalnum|isalpha"
    r"|isdigit|islower|isoformat|isspace|isupper|items|keys|lower|lstrip|popleft|read|readline|readlines|resolve"
    r"|rstrip|sort|split|splitlines|strip|title|total_seconds|upper|values"
)
FUNCTION_OBJECT_MENTION = re.compile(r"\b(method|function|builtin_function_or_method)\b")
"""How failure messages name a function object that was used instead of its result."""
NOT_CALLABLE = re.compile(r"(object is not callable)")
WEIGHT_WITH_EVIDENCE, WEIGHT_WITHOUT_EVIDENCE = 1.1, 0.45
"""Weights with and without a failure message that points to it."""


def calling(site: RewriteSite) -> Iterator[Rewrite]:
    """Add or remove call parentheses: `x.strip()` for `x.strip`, `x.area` for `x.area()`."""
    match site.node, site.parent:
        case _, ast.Call(func=called) if called is site.node:
            return
        case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Name(id=name, ctx=ast.Load()), _ if (
            _is_callable_without_arguments(site, name)
        ):
            _, end = site.source.span(site.node)
            weight = (
                WEIGHT_WITH_EVIDENCE
                if find_in_messages(site.failures, FUNCTION_OBJECT_MENTION)
                else WEIGHT_WITHOUT_EVIDENCE
            )
            yield Rewrite((TextChange(start=end, end=end, text="()"),), weight, f"call `{name}`")
        case ast.Attribute(attr="seconds", ctx=ast.Load()) as node, _:
            yield from site.rename_attribute(
                node, "total_seconds()", weight=0.5, summary="use `total_seconds()` instead of `seconds`"
            )
        case ast.Call(func=ast.Attribute(attr=name) as attribute, args=[], keywords=[]) as call, _:
            is_not_callable = bool(find_in_messages(site.failures, NOT_CALLABLE))
            if is_not_callable or name in _methods_without_arguments(site.source, properties=True):
                change = TextChange(
                    start=site.source.span(attribute)[1], end=site.source.span(call)[1], text=""
                )
                yield Rewrite(
                    (change,),
                    WEIGHT_WITH_EVIDENCE if is_not_callable else WEIGHT_WITHOUT_EVIDENCE,
                    f"do not call `{name}`",
                )
        case _:
            pass


def _is_callable_without_arguments(site: RewriteSite, name: str) -> bool:
    """Tell whether a name is a method or function that needs no arguments."""
    if isinstance(site.node, ast.Attribute):
        return WITHOUT_ARGUMENTS.fullmatch(name) is not None or name in _methods_without_arguments(
            site.source, properties=False
        )
    return any(
        function.name == name
        and not _requires_more_than(function, 0)
        and site.source.owner_class(function) is None
        for function in site.source.functions
    )


@lru_cache(maxsize=256)
def _methods_without_arguments(source: PythonSource, *, properties: bool) -> frozenset[str]:
    """Return the file's methods that need only self: its properties, or its undecorated methods."""
    methods = (
        function
        for function in source.functions
        if source.owner_class(function) and not _requires_more_than(function, 1)
    )
    matching = (
        method
        for method in methods
        if (_is_property(method, source) if properties else not method.decorator_list)
    )
    return frozenset(member.name for member in matching)


def _is_property(method: Function, source: PythonSource) -> bool:
    return any(source.text_of(decorator).endswith("property") for decorator in method.decorator_list)


def _requires_more_than(function: Function, count: int) -> bool:
    """Tell whether a function requires more than a number of arguments."""
    signature = function.args
    required = (
        len(signature.posonlyargs)
        + len(signature.args)
        - len(signature.defaults)
        + sum(default is None for default in signature.kw_defaults)
    )
    return required > count
