"""Standard-library names that have moved or were renamed."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator, Sequence

from coder.core.ports import TextChange
from coder.python.source import PythonSource
from coder.repair.context.imports import SUCCESSORS, insert_import_line, standard_library_index
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNKNOWN_IMPORT, find_in_messages

MODULE_ATTRIBUTE = re.compile(r"module '[\w.]+' has no attribute '(\w+)'")


def moved(site: RewriteSite) -> Iterator[Rewrite]:
    """Use the current location of a name: `collections.abc.Mapping` for `collections.Mapping`."""
    match site.node:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in find_in_messages(
            site.failures, MODULE_ATTRIBUTE
        ):
            for new in _current_names(module, name):
                yield _replace_attribute(site.source, module, name, new)
        case ast.ImportFrom(module=str(module), level=0) as statement:
            missing = find_in_messages(site.failures, UNKNOWN_IMPORT)
            for alias in statement.names:
                if alias.name in missing:
                    yield from (
                        _replace_import(site.source, statement, alias, new)
                        for new in _current_names(module, alias.name)
                    )


def _current_names(module: str, name: str) -> list[str]:
    """Return the full names under which a former name of a module is found now."""
    successor = SUCCESSORS.get((module, name))
    return (
        [successor]
        if successor
        else [f"{other}.{name}" for other in standard_library_index().get(name, ()) if other != module]
    )


def _replace_attribute(source: PythonSource, module: str, name: str, new: str) -> Rewrite:
    accesses = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == f"{module}.{name}"
    ]
    changes = [
        TextChange(start=start, end=end, text=new)
        for start, end in sorted(source.span(access) for access in accesses)
    ]
    home = new.rpartition(".")[0]
    imported = {
        alias.name for access in source.tree.body if isinstance(access, ast.Import) for alias in access.names
    }
    if home and home not in (*imported, "str"):
        changes.insert(0, insert_import_line(source, f"import {home}"))
    return Rewrite(tuple(changes), 2.0, f"use `{new}` instead of `{module}.{name}`")


def _replace_import(source: PythonSource, statement: ast.ImportFrom, alias: ast.alias, new: str) -> Rewrite:
    """Import a name from its current module, with other names that moved along."""
    home, _, name = new.rpartition(".")
    local_name = alias.asname or alias.name
    if home in ("", "str"):
        moving, line, summary = [alias], f"{local_name} = {new}", f"use `{new}` for `{local_name}`"
    elif name != alias.name:
        moving, line, summary = (
            [alias],
            f"from {home} import {name} as {local_name}",
            f"import `{local_name}` from `{home}`",
        )
    else:
        moving = [
            other_alias
            for other_alias in statement.names
            if other_alias is alias
            or (
                home in standard_library_index().get(other_alias.name, ())
                and other_alias.name not in _current_members(statement)
            )
        ]
        names = ", ".join(map(source.text_of, moving))
        line, summary = f"from {home} import {names}", f"import {names} from `{home}`"
    begin, end = source.span(statement)
    if len(moving) == len(statement.names):
        return Rewrite((TextChange(start=begin, end=end, text=line),), 2.0, summary)
    first = TextChange(start=begin, end=begin, text=f"{line}{source.line_end}{source.indent(statement)}")
    return Rewrite(
        (first, *(_remove_alias(source, statement.names, other_alias, moving) for other_alias in moving)),
        2.0,
        summary,
    )


def _current_members(statement: ast.ImportFrom) -> list[str]:
    """Return the current names of a standard-library module."""
    is_standard = statement.module in sys.stdlib_module_names
    return (
        dir(importlib.import_module(str(statement.module)))
        if is_standard
        else [alias.name for alias in statement.names]
    )


def _remove_alias(
    source: PythonSource, names: Sequence[ast.alias], alias: ast.alias, moving: Sequence[ast.alias]
) -> TextChange:
    """Remove one of several imported names, with a comma."""
    place = names.index(alias)
    start, end = source.span(alias)
    if all(earlier in moving for earlier in names[:place]):
        return TextChange(start=start, end=source.span(names[place + 1])[0], text="")
    return TextChange(start=source.span(names[place - 1])[1], end=end, text="")
