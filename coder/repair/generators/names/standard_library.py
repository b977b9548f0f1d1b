"""What the standard library has elsewhere today, or under another name."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Sequence

from coder.core.ports.repair import Change
from coder.python.source import Source
from coder.repair.context.imports import SUCCESSORS, inserted, offered
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import IMPORT, said

MODULE_ATTRIBUTE = re.compile(r"module '[\w.]+' has no attribute '(\w+)'")


def moved(site: Site) -> Iterator[Rewrite]:
    """`collections.abc.Mapping` for `collections.Mapping`, wherever the file asks for it, and the like for an import."""
    match site.node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in said(
            site.failures, MODULE_ATTRIBUTE
        ):
            for new in _today(module, name):
                yield _asked_of(site.source, module, name, new)
        case ast.ImportFrom(module=str(module), level=0) as statement:
            wanted = said(site.failures, IMPORT)
            for alias in statement.names:
                if alias.name in wanted:
                    yield from (
                        _imported(site.source, statement, alias, new) for new in _today(module, alias.name)
                    )


def _today(module: str, name: str) -> list[str]:
    """Where to find what a module had, the full names."""
    known = SUCCESSORS.get((module, name))
    return [known] if known else [f"{other}.{name}" for other in offered().get(name, ()) if other != module]


def _asked_of(source: Source, module: str, name: str, new: str) -> Rewrite:
    same = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == f"{module}.{name}"
    ]
    changes = [
        Change(start=start, end=end, text=new) for start, end in sorted(source.span(item) for item in same)
    ]
    home = new.rpartition(".")[0]
    known = {alias.name for item in source.tree.body if isinstance(item, ast.Import) for alias in item.names}
    if home and home not in (*known, "str"):
        changes.insert(0, inserted(source, f"import {home}"))
    return Rewrite(tuple(changes), 2.0, f"use `{new}` instead of `{module}.{name}`")


def _imported(source: Source, statement: ast.ImportFrom, alias: ast.alias, new: str) -> Rewrite:
    """Imported from where it is, under the name that the file knows it by, with what has moved there from the same module."""
    home, _, name = new.rpartition(".")
    own = alias.asname or alias.name
    if home in ("", "str"):
        moving, line, summary = [alias], f"{own} = {new}", f"use `{new}` for `{own}`"
    elif name != alias.name:
        moving, line, summary = (
            [alias],
            f"from {home} import {name} as {own}",
            f"import `{own}` from `{home}`",
        )
    else:
        moving = [
            item
            for item in statement.names
            if item is alias or (home in offered().get(item.name, ()) and item.name not in _has(statement))
        ]
        names = ", ".join(map(source.code, moving))
        line, summary = f"from {home} import {names}", f"import {names} from `{home}`"
    begin, end = source.span(statement)
    if len(moving) == len(statement.names):
        return Rewrite((Change(start=begin, end=end, text=line),), 2.0, summary)
    first = Change(start=begin, end=begin, text=f"{line}{source.line_end}{source.indent(statement)}")
    return Rewrite(
        (first, *(_without(source, statement.names, item, moving) for item in moving)), 2.0, summary
    )


def _has(statement: ast.ImportFrom) -> list[str]:
    """What a module of the standard library has today."""
    known = statement.module in sys.stdlib_module_names
    return (
        dir(importlib.import_module(str(statement.module)))
        if known
        else [alias.name for alias in statement.names]
    )


def _without(
    source: Source, names: Sequence[ast.alias], one: ast.alias, moving: Sequence[ast.alias]
) -> Change:
    """One of several imported names taken away, with a comma."""
    place = names.index(one)
    start, end = source.span(one)
    if all(before in moving for before in names[:place]):
        return Change(start=start, end=source.span(names[place + 1])[0], text="")
    return Change(start=source.span(names[place - 1])[1], end=end, text="")
