"""A method that is named and not called, or called and not meant to be."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.python.source import Function, Source
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

WITHOUT_ARGUMENTS = re.compile(
    r"capitalize|casefold|clear|close|copy|decode|digest|encode|exists|hexdigest|is_dir|is_file|isalnum|isalpha"
    r"|isdigit|islower|isoformat|isspace|isupper|items|keys|lower|lstrip|popleft|read|readline|readlines|resolve"
    r"|rstrip|sort|split|splitlines|strip|title|total_seconds|upper|values"
)
NOT_CALLED = re.compile(r"\b(method|function|builtin_function_or_method)\b")
"""How failures speak of what was met where its answer was meant."""
NOT_CALLABLE = re.compile(r"(object is not callable)")
TOLD, UNTOLD = 1.1, 0.45
"""What speaks for it where a failure says so, and where none does."""


def calling(site: Site) -> Iterator[Rewrite]:
    """`x.strip()` for `x.strip`; `x.area` for `x.area()` where that is a property, or something cannot be called."""
    match site.node, site.parent:
        case _, ast.Call(func=called) if called is site.node:
            return
        case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Name(id=name, ctx=ast.Load()), _ if _is_called(
            site, name
        ):
            _, end = site.source.span(site.node)
            weight = TOLD if said(site.failures, NOT_CALLED) else UNTOLD
            yield Rewrite((Change(start=end, end=end, text="()"),), weight, f"call `{name}`")
        case ast.Attribute(attr="seconds", ctx=ast.Load()) as node, _:
            yield from site.rename(
                node, "total_seconds()", weight=0.5, summary="all of its seconds, not those of the last day"
            )
        case ast.Call(func=ast.Attribute(attr=name) as named, args=[], keywords=[]) as call, _:
            told = bool(said(site.failures, NOT_CALLABLE))
            if told or name in _of_kind(site.source, properties=True):
                change = Change(start=site.source.span(named)[1], end=site.source.span(call)[1], text="")
                yield Rewrite((change,), TOLD if told else UNTOLD, f"take `{name}`, do not call it")
        case _:
            pass


def _is_called(site: Site, name: str) -> bool:
    """Is it what needs no arguments: a method of these names or of the file, or a function of the file?"""
    if isinstance(site.node, ast.Attribute):
        return WITHOUT_ARGUMENTS.fullmatch(name) is not None or name in _of_kind(
            site.source, properties=False
        )
    return any(
        function.name == name and not _wanting(function, 0) and site.source.class_of(function) is None
        for function in site.source.functions
    )


@lru_cache(maxsize=256)
def _of_kind(source: Source, *, properties: bool) -> frozenset[str]:
    """The file's methods that want nothing more than self: those that are properties, or those with no decorator."""
    methods = (
        function for function in source.functions if source.class_of(function) and not _wanting(function, 1)
    )
    wanted = (
        method
        for method in methods
        if (_is_property(method, source) if properties else not method.decorator_list)
    )
    return frozenset(item.name for item in wanted)


def _is_property(method: Function, source: Source) -> bool:
    return any(source.code(item).endswith("property") for item in method.decorator_list)


def _wanting(function: Function, given: int) -> bool:
    """Must it be given more than so many arguments?"""
    taken = function.args
    needed = (
        len(taken.posonlyargs)
        + len(taken.args)
        - len(taken.defaults)
        + sum(default is None for default in taken.kw_defaults)
    )
    return needed > given
