"""Corrections suggested by the exception: of a name, an attribute, a key or an import."""

import ast
import builtins
import re
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource
from coder.repair.context.imports import import_changes
from coder.repair.context.scope import (
    attribute_names,
    local_names,
    module_names,
    most_similar_names,
    self_attribute_names,
    short_string_literals,
)
from coder.repair.context.site import Rewrite, RewriteSite

UNDEFINED_NAME = re.compile(r"name '(\w+)' is not defined|local variable '(\w+)'|free variable '(\w+)'")
UNKNOWN_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
UNKNOWN_IMPORT = re.compile(r"cannot import name '(\w+)'")
MOST_PLACES = 6
BUILTIN_METHODS = tuple(
    name for kind in (str, list, dict, set, bytes, int) for name in dir(kind) if not name.startswith("__")
)
PYTHON_2_NAMES = {
    "basestring": "str",
    "long": "int",
    "raw_input": "input",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
"""Current names of Python 2 built-ins."""


def undefined_name(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an undefined name with a similar one, its current name, or `self.name`, or import it."""
    unknown = find_in_messages(site.failures, UNDEFINED_NAME)
    match site.node:
        case ast.Name() as node if node.id in unknown:
            yield from _replace_undefined(site, node)
        case ast.FunctionDef() | ast.AsyncFunctionDef() as function if unknown:
            for descendant in (
                descendant for part in _definition_expressions(function) for descendant in ast.walk(part)
            ):
                if isinstance(descendant, ast.Name) and descendant.id in unknown:
                    yield from _replace_undefined(site, descendant)
        case _:
            pass


def _definition_expressions(function: Function) -> Iterator[ast.expr]:
    """Yield the decorators and annotations of a function; its defaults are sites of their own."""
    signature = function.args
    parameters = [
        *signature.posonlyargs,
        *signature.args,
        *signature.kwonlyargs,
        *filter(None, (signature.vararg, signature.kwarg)),
    ]
    yield from function.decorator_list
    yield from filter(None, (function.returns, *(parameter.annotation for parameter in parameters)))


def _replace_undefined(site: RewriteSite, node: ast.Name) -> Iterator[Rewrite]:
    if node.id in self_attribute_names(site.source, node):
        yield from site.replace_expression(
            node, f"self.{node.id}", weight=2.0, summary=f"use `self.{node.id}`"
        )
    pool = (*local_names(site.source, node), *module_names(site.source), *dir(builtins))
    for name, alike in most_similar_names(node.id, pool, max_count=5, min_similarity=0.5):
        yield Rewrite(
            _rename_everywhere(site.source, node, name),
            1.2 + alike,
            f"use `{name}` instead of the undefined `{node.id}`",
        )
    if new := PYTHON_2_NAMES.get(node.id):
        yield Rewrite(_rename_everywhere(site.source, node, new), 2.0, f"use `{new}` instead of `{node.id}`")
    for change in import_changes(site.source, node.id):
        yield Rewrite((change,), 2.0, f"import `{node.id}`")


def _rename_everywhere(source: PythonSource, node: ast.Name, name: str) -> tuple[TextChange, ...]:
    """Rename an undefined name wherever the file reads it, unless the file defines it somewhere."""
    occurrences = [
        other_node
        for other_node in ast.walk(source.tree)
        if isinstance(other_node, ast.Name) and other_node.id == node.id
    ]
    defined_names = {
        getattr(other_node, name, None)
        for other_node in ast.walk(source.tree)
        for name in ("arg", "name", "asname")
    }
    targets = (
        occurrences
        if all(isinstance(other_node.ctx, ast.Load) for other_node in occurrences)
        and node.id not in defined_names
        else [node]
    )
    return tuple(
        TextChange(start=start, end=end, text=name) for start, end in sorted(map(source.span, targets))
    )


def unknown_attribute(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown attribute with a similar one, here or wherever the file accesses it."""
    node = site.node
    if isinstance(node, ast.Attribute) and node.attr in find_in_messages(site.failures, UNKNOWN_ATTRIBUTE):
        pool = (*self_attribute_names(site.source, node), *attribute_names(site.source), *BUILTIN_METHODS)
        for name, alike in most_similar_names(node.attr, pool, max_count=8, min_similarity=0.5):
            summary = f"use `{name}` instead of the unknown `{node.attr}`"
            ends = _attribute_ends(site.source, node.attr)
            if 1 < len(ends) <= MOST_PLACES:
                changes = tuple(TextChange(start=end - len(node.attr), end=end, text=name) for end in ends)
                yield Rewrite(changes, 1.0 + alike, f"{summary}, {len(ends)} times")
            else:
                yield from site.rename_attribute(node, name, weight=1.0 + alike, summary=summary)
        if isinstance(site.parent, ast.Attribute):
            yield from site.replace_expression(
                node, site.source.text_of(node.value), weight=1.2, summary=f"drop the attribute `{node.attr}`"
            )


def _attribute_ends(source: PythonSource, name: str) -> list[int]:
    """Return the end offsets of an attribute that the file only reads.

    Empty if something defines it, since other objects may have it.
    """
    accesses = [
        node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute) and node.attr == name
    ]
    is_defined = name in BUILTIN_METHODS or any(function.name == name for function in source.functions)
    return (
        []
        if is_defined or not all(isinstance(access.ctx, ast.Load) for access in accesses)
        else sorted(source.span(access)[1] for access in accesses)
    )


def unknown_key(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace a missing key with a similar string of the file."""
    node = site.node
    missing = {failure.message.strip("'\"") for failure in site.failures if failure.type == "KeyError"}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in missing:
        for name, alike in most_similar_names(
            node.value, short_string_literals(site.source), max_count=5, min_similarity=0.5
        ):
            yield from site.replace_expression(
                node,
                repr(name),
                weight=1.0 + alike,
                summary=f"use the key {name!r} instead of {node.value!r}",
            )


def unknown_import(site: RewriteSite) -> Iterator[Rewrite]:
    """Replace an unknown imported name with a similar one that the module uses."""
    node = site.node
    if not isinstance(node, ast.ImportFrom):
        return
    missing = find_in_messages(site.failures, UNKNOWN_IMPORT)
    for alias in node.names:
        if alias.name in missing:
            start, end = site.source.span(alias)
            used = tuple(
                descendant.id for descendant in ast.walk(site.source.tree) if isinstance(descendant, ast.Name)
            )
            for name, alike in most_similar_names(alias.name, used, max_count=5, min_similarity=0.5):
                yield Rewrite(
                    (TextChange(start=start, end=end, text=name),),
                    1.0 + alike,
                    f"import `{name}` instead of `{alias.name}`",
                )


def find_in_messages(failures: tuple[Failure, ...], pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the groups that a pattern matches in the failure messages."""
    return frozenset(
        name
        for failure in failures
        for match in pattern.finditer(failure.message)
        for name in match.groups()
        if name
    )
