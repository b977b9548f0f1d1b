"""A call that is missing: of a private function that nothing calls, with arguments by their names."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from coder.python.source import Function, Source
from coder.repair.context.scope import arguments_of, local_names, stored, unread
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import NAME, said
from coder.repair.generators.statements.insertion import is_place, put

MOST_UNKNOWN = 1
"""Parameters for which no variable of the same name is at hand, and that have no default."""
MOST_INSTEAD, MOST_TARGETS = 4, 3


def uncalled(site: Site) -> Iterator[Rewrite]:
    """`self._check(size)`, or `size = self._check(size)`, where `_check` is defined and never called."""
    node, function = site.node, site.function
    if not is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    for item in _never_called(site.source):
        if item in (function, *site.source.around(function)) or not _within_reach(site, item, function):
            continue
        for rank, call in enumerate(_calls(site, node, item)):
            for place, line in enumerate(_statements(site, node, function, item, call)):
                yield from put(site, node, [line], weight=0.8 * 0.85**rank * 0.9**place)


@lru_cache(maxsize=256)
def _never_called(source: Source) -> tuple[Function, ...]:
    """Private functions and methods, and functions inside of others, whose names the file says once."""
    private = [
        function
        for function in source.functions
        if not function.decorator_list and re.match(r"_(?!_)", function.name)
    ]
    inner = [
        function
        for function in source.functions
        if not function.decorator_list and isinstance(source.parents[function], Function)
    ]
    return tuple(
        item
        for item in dict.fromkeys([*private, *inner])
        if len(re.findall(rf"\b{item.name}\b", source.text)) == 1
    )


def _within_reach(site: Site, one: Function, function: Function) -> bool:
    """Is it of the module, or defined in a function around, or a method of the same class?"""
    owner = site.source.parents[one]
    if isinstance(owner, ast.ClassDef):
        return (
            owner is site.source.class_of(function)
            and bool(function.args.args)
            and function.args.args[0].arg == "self"
        )
    return owner is site.source.tree or owner in (function, *site.source.around(function))


def _calls(site: Site, node: ast.stmt, one: Function) -> Iterator[str]:
    """With variables that are called as the parameters are; for one that has no such variable, with each that was made last."""
    names = local_names(site.source, node)
    wanted = arguments_of(one)[: len(one.args.args)]
    required = len(one.args.args) - len(one.args.defaults)
    first = len(one.args.args) - len(wanted)  # self is given by itself
    given = [name if name in names else "" for name in wanted]
    needed = [place for place, name in enumerate(given) if not name and place + first < required]
    if len(needed) > MOST_UNKNOWN:
        return
    prefix = "self." if isinstance(site.source.parents[one], ast.ClassDef) else ""
    spare = [name for name in reversed(_made_before(site, node)) if name not in given]
    for name in islice(spare, MOST_INSTEAD) if needed else ("",):
        filled = [name if place in needed else value for place, value in enumerate(given)]
        plain = filled[: filled.index("")] if "" in filled else filled
        named = [
            f"{wanted[place]}={value}" for place, value in enumerate(filled) if value and place > len(plain)
        ]
        yield f"{prefix}{one.name}({', '.join([*plain, *named])})"


def _made_before(site: Site, node: ast.stmt) -> list[str]:
    """Variables of the function, those last that are given a value last before the statement."""
    function = site.function
    before = (
        [item for item in ast.walk(function) if isinstance(item, ast.stmt) and item.lineno < node.lineno]
        if function
        else []
    )
    simple = [
        item
        for item in before
        if isinstance(item, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.With)
    ]
    made = [name for item in sorted(simple, key=lambda item: item.lineno) for name in stored(item)]
    names = [*local_names(site.source, node), *made]
    return [name for place, name in enumerate(names) if name not in names[place + 1 :]]


def _statements(site: Site, node: ast.stmt, function: Function, one: Function, call: str) -> Iterator[str]:
    """What can be done with the call: as it is where it gives nothing, else into what is missing or was given, or as the result."""
    kinds = [other for other in ast.walk(one) if site.source.function(other) is one]
    if any(isinstance(other, ast.Yield | ast.YieldFrom) for other in kinds):
        yield f"yield from {call}"
    elif any(isinstance(other, ast.Return) and other.value is not None for other in kinds):
        missing = sorted(said(site.failures, NAME))
        given = [
            name
            for name in re.findall(r"\w+", call.partition("(")[2])
            if name in stored(function) or name in arguments_of(function)
        ]
        yield from (
            f"{name} = {call}" for name in dict.fromkeys([*missing, *unread(function), *given][:MOST_TARGETS])
        )
        if isinstance(node, ast.Pass) or node is site.source.block(node)[-1]:
            yield f"return {call}"
    yield call
