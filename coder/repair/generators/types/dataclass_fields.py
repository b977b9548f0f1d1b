"""Mutable defaults of data class fields."""

import ast
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import PythonSource
from coder.repair.context.imports import import_from_change
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import find_in_messages

FIELD = re.compile(r"mutable default .* for field (\w+)")


def factory(site: RewriteSite) -> Iterator[Rewrite]:
    """Use a default factory: `field(default_factory=list)` for `[]`."""
    match site.node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in find_in_messages(
            site.failures, FIELD
        ):
            default_factory = _factory_of(site.source, value)
            start, end = site.source.span(value)
            imported = {
                alias.name
                for statement in site.source.tree.body
                if isinstance(statement, ast.ImportFrom)
                for alias in statement.names
            }
            field_name = (
                "field"
                if "field" in imported or not _imports_dataclasses(site.source)
                else "dataclasses.field"
            )
            change = TextChange(start=start, end=end, text=f"{field_name}(default_factory={default_factory})")
            imports = (
                [import_from_change(site.source, "dataclasses", "field")]
                if field_name == "field" and "field" not in imported
                else []
            )
            yield Rewrite((*imports, change), 2.0, f"use a default factory for `{name}`")


def _imports_dataclasses(source: PythonSource) -> bool:
    return any(
        alias.name == "dataclasses"
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    )


def _factory_of(source: PythonSource, value: ast.expr) -> str:
    match value:
        case ast.List(elts=[]):
            return "list"
        case ast.Dict(keys=[]):
            return "dict"
        case ast.Call(func=ast.Name(id=kind), args=[], keywords=[]):
            return kind
        case _:
            return f"lambda: {source.text_of(value)}"
