"""A value that a data class has to make anew for each of its objects."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Source
from coder.repair.context.imports import import_of
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import said

FIELD = re.compile(r"mutable default .* for field (\w+)")


def factory(site: Site) -> Iterator[Rewrite]:
    """`field(default_factory=list)` for the `[]` of a data class."""
    match site.node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in said(
            site.failures, FIELD
        ):
            made = _made_by(site.source, value)
            start, end = site.source.span(value)
            known = {
                alias.name
                for item in site.source.tree.body
                if isinstance(item, ast.ImportFrom)
                for alias in item.names
            }
            maker = "field" if "field" in known or not _imports_whole(site.source) else "dataclasses.field"
            change = Change(start=start, end=end, text=f"{maker}(default_factory={made})")
            needed = (
                [import_of(site.source, "dataclasses", "field")]
                if maker == "field" and "field" not in known
                else []
            )
            yield Rewrite((*needed, change), 2.0, f"make the default of `{name}` anew for each")


def _imports_whole(source: Source) -> bool:
    return any(
        alias.name == "dataclasses"
        for item in source.tree.body
        if isinstance(item, ast.Import)
        for alias in item.names
    )


def _made_by(source: Source, value: ast.expr) -> str:
    match value:
        case ast.List(elts=[]):
            return "list"
        case ast.Dict(keys=[]):
            return "dict"
        case ast.Call(func=ast.Name(id=kind), args=[], keywords=[]):
            return kind
        case _:
            return f"lambda: {source.code(value)}"
