"""Did you mean: what the exception itself says about a name, an attribute, a key or an import."""

import ast
import builtins
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.core.values.verdict import Failure
from coder.python.source import Function, Source
from coder.repair.context.imports import imports
from coder.repair.context.scope import (
    attributes,
    local_names,
    module_names,
    most_alike,
    own_attributes,
    short_texts,
)
from coder.repair.context.site import Rewrite, Site

NAME = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'|free variable '(\w+)'")
ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
IMPORT = re.compile(r"cannot import name '(\w+)'")
MOST_PLACES = 6
METHODS = tuple(
    name for kind in (str, list, dict, set, bytes, int) for name in dir(kind) if not name.startswith("__")
)
RENAMED = {
    "basestring": "str",
    "long": "int",
    "raw_input": "input",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
"""What Python 2 called built-in things."""


def undefined_name(site: Site) -> Iterator[Rewrite]:
    """A name alike for one that is not defined, its name of today, `self.` before it, or the import of it."""
    unknown = said(site.failures, NAME)
    match site.node:
        case ast.Name() as node if node.id in unknown:
            yield from _defined(site, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function if unknown:
            for item in (item for part in _evaluated(function) for item in ast.walk(part)):
                if isinstance(item, ast.Name) and item.id in unknown:
                    yield from _defined(site, item)
        case _:
            pass


def _evaluated(function: Function) -> Iterator[ast.expr]:
    """What is evaluated where a function is defined: decorators and annotations; defaults are sites of their own."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    yield from function.decorator_list
    yield from filter(None, (function.returns, *(item.annotation for item in every)))


def _defined(site: Site, node: ast.Name) -> Iterator[Rewrite]:
    if node.id in own_attributes(site.source, node):
        yield from site.replace(node, f"self.{node.id}", weight=2.0, summary=f"use `self.{node.id}`")
    pool = (*local_names(site.source, node), *module_names(site.source), *dir(builtins))
    for name, alike in most_alike(node.id, pool, count=5, least=0.5):
        yield Rewrite(
            _everywhere(site.source, node, name),
            1.2 + alike,
            f"use `{name}` instead of the undefined `{node.id}`",
        )
    if new := RENAMED.get(node.id):
        yield Rewrite(_everywhere(site.source, node, new), 2.0, f"use `{new}` instead of `{node.id}`")
    for change in imports(site.source, node.id):
        yield Rewrite((change,), 2.0, f"import `{node.id}`")


def _everywhere(source: Source, node: ast.Name, name: str) -> tuple[Change, ...]:
    """Another name for one that is not defined; wherever the file reads that, unless something is called so somewhere."""
    same = [item for item in ast.walk(source.tree) if isinstance(item, ast.Name) and item.id == node.id]
    called = {
        getattr(item, name, None) for item in ast.walk(source.tree) for name in ("arg", "name", "asname")
    }
    meant = same if all(isinstance(item.ctx, ast.Load) for item in same) and node.id not in called else [node]
    return tuple(Change(start=start, end=end, text=name) for start, end in sorted(map(source.span, meant)))


def unknown_attribute(site: Site) -> Iterator[Rewrite]:
    """An attribute alike for one that does not exist, here or wherever the file asks for it."""
    node = site.node
    if isinstance(node, ast.Attribute) and node.attr in said(site.failures, ATTRIBUTE):
        pool = (*own_attributes(site.source, node), *attributes(site.source), *METHODS)
        for name, alike in most_alike(node.attr, pool, count=8, least=0.5):
            summary = f"use `{name}` instead of the unknown `{node.attr}`"
            ends = _misspelt(site.source, node.attr)
            if 1 < len(ends) <= MOST_PLACES:
                changes = tuple(Change(start=end - len(node.attr), end=end, text=name) for end in ends)
                yield Rewrite(changes, 1.0 + alike, f"{summary}, {len(ends)} times")
            else:
                yield from site.rename(node, name, weight=1.0 + alike, summary=summary)
        if isinstance(site.parent, ast.Attribute):
            yield from site.replace(
                node, site.source.code(node.value), weight=1.2, summary=f"do without `{node.attr}`"
            )


def _misspelt(source: Source, name: str) -> list[int]:
    """Where an attribute ends that nothing built in has, and that the file asks for only; what one object lacks another one may have."""
    found = [node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute) and node.attr == name]
    defined = name in METHODS or any(function.name == name for function in source.functions)
    return (
        []
        if defined or not all(isinstance(item.ctx, ast.Load) for item in found)
        else sorted(source.span(item)[1] for item in found)
    )


def unknown_key(site: Site) -> Iterator[Rewrite]:
    """A key alike for one that was not found."""
    node = site.node
    missing = {failure.message.strip("'\"") for failure in site.failures if failure.type == "KeyError"}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in missing:
        for name, alike in most_alike(node.value, short_texts(site.source), count=5, least=0.5):
            yield from site.replace(
                node,
                repr(name),
                weight=1.0 + alike,
                summary=f"use the key {name!r} instead of {node.value!r}",
            )


def unknown_import(site: Site) -> Iterator[Rewrite]:
    """A name alike among those that the module uses, for one that could not be imported."""
    node = site.node
    if not isinstance(node, ast.ImportFrom):
        return
    wanted = said(site.failures, IMPORT)
    for alias in node.names:
        if alias.name in wanted:
            start, end = site.source.span(alias)
            used = tuple(item.id for item in ast.walk(site.source.tree) if isinstance(item, ast.Name))
            for name, alike in most_alike(alias.name, used, count=5, least=0.5):
                yield Rewrite(
                    (Change(start=start, end=end, text=name),),
                    1.0 + alike,
                    f"import `{name}` instead of `{alias.name}`",
                )


def said(failures: tuple[Failure, ...], pattern: re.Pattern[str]) -> frozenset[str]:
    """What a pattern finds in the messages of the failures."""
    return frozenset(
        name
        for failure in failures
        for match in pattern.finditer(failure.message)
        for name in match.groups()
        if name
    )
