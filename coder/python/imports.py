"""Imports and names of a module, as its source shows them."""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from coder.python.source import find_nodes, parse_module

SOURCE_DIRECTORIES = ("src", "lib")
"""Directories of sources that are no part of a module's name."""


class ImportedName(NamedTuple):
    module: str
    """Absolute name of the module, as far as it is known."""
    name: str
    """The name taken from it; empty for `import module`."""
    line: int


def module_of_path(path: str) -> str:
    """Return the name under which a file of a usual layout is imported: `src/shop/cart.py` is `shop.cart`."""
    parts = PurePosixPath(path).with_suffix("").parts
    if len(parts) > 1 and parts[0] in SOURCE_DIRECTORIES:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def list_imports(text: str, path: str) -> tuple[ImportedName, ...]:
    """Return all imports of a module in the order of their lines; empty if it does not parse.

    Relative ones are made absolute by the module's path.
    """
    tree = _parse_or_none(text)
    nodes = [] if tree is None else [node for node in find_nodes(tree, ast.stmt)]
    found = [imported for node in nodes for imported in _imports_of(node, path)]
    return tuple(sorted(found, key=lambda imported: imported.line))


def third_party_modules(texts: Iterable[tuple[str, str]], own: Iterable[str]) -> tuple[str, ...]:
    """Return the top-level modules that (path, text) pairs import, without those of Python and `own`."""
    known = {*own, *sys.stdlib_module_names, "__future__"}
    tops = (
        imported.module.partition(".")[0] for path, text in texts for imported in list_imports(text, path)
    )
    return tuple(dict.fromkeys(top for top in tops if top and top not in known))


def defined_names(text: str) -> frozenset[str] | None:
    """Return the names that a module binds at its top level; None if the source does not show them all."""
    tree = _parse_or_none(text)
    if tree is None:
        return None
    names = {name for node in tree.body for name in bound_names(node)}
    return None if "*" in names or "__getattr__" in names else frozenset(names)


def _parse_or_none(text: str) -> ast.Module | None:
    try:
        return parse_module(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports_of(node: ast.stmt, path: str) -> Iterator[ImportedName]:
    match node:
        case ast.Import(names=aliases):
            yield from (ImportedName(alias.name, "", node.lineno) for alias in aliases)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            absolute = f"{_package(path, level)}.{module or ''}".strip(".") if level else module or ""
            yield from (ImportedName(absolute, alias.name, node.lineno) for alias in aliases)


def _package(path: str, level: int) -> str:
    """Return the package that `level` dots stand for in a module."""
    parts = module_of_path(path).split(".")
    is_package = PurePosixPath(path).stem == "__init__"
    return ".".join(parts[: len(parts) - level + is_package])


def bound_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds, also within its branches; `*` for unknown ones."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name for alias in aliases)
        case _:
            if type(node).__name__ == "TypeAlias":
                yield node.name.id  # type: ignore[attr-defined]  # newer than the oldest Python
            for child in ast.iter_child_nodes(node):
                yield from _names_bound_in(child)


def _names_bound_in(child: ast.AST) -> Iterator[str]:
    """Yield the names that a part of a statement binds, without those of functions and classes inside."""
    if isinstance(child, ast.stmt):
        yield from bound_names(child)
    elif isinstance(child, ast.ExceptHandler | ast.match_case):
        for statement in child.body:
            yield from bound_names(statement)
    else:
        for node in ast.walk(child):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
