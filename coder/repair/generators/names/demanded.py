"""Definitions with another name than the one tests use."""

import ast
import re
from collections.abc import Iterator, Sequence

from coder.core.ports.repair import Change
from coder.core.values.paths import is_test_path
from coder.core.values.verdict import Failure
from coder.python.source import Function, Source
from coder.repair.context.scope import likeness
from coder.repair.context.site import Rewrite, Site
from coder.repair.generators.names.suggestions import ATTRIBUTE, IMPORT, said

LEAST_ALIKE = 0.6


def demanded(site: Site) -> Iterator[Rewrite]:
    """Rename a definition to the similar name that a test uses, wherever the file mentions it."""
    for name in defined(site.node) if site.node in site.source.top_level else ():
        for test_name in asked_for(site.failures):
            ratio = likeness(name, test_name)
            if ratio >= LEAST_ALIKE and test_name != name and not _is_defined(site.source, test_name):
                spans = sorted(_name_spans(site.source, site.node, name))
                changes = tuple(Change(start=start, end=end, text=test_name) for start, end in spans)
                yield Rewrite(changes, 1.0 + ratio, f"rename `{name}` to `{test_name}`, as tests expect")


def asked_for(failures: Sequence[Failure]) -> tuple[str, ...]:
    """Return the names that tests themselves, not the code under test, found missing."""
    failures_in_tests = tuple(
        failure for failure in failures if failure.frames and is_test_path(failure.frames[-1].path)
    )
    return tuple(sorted(said(failures_in_tests, IMPORT) | said(failures_in_tests, ATTRIBUTE)))


def defined(node: ast.AST) -> tuple[str, ...]:
    """Return the name that a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _is_defined(source: Source, name: str) -> bool:
    return any(name in defined(node) for node in source.top_level)


def _name_spans(source: Source, definition: ast.AST, name: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a definition's name: of variables, or of attributes for a class member."""
    is_member = isinstance(source.parents.get(definition), ast.ClassDef)
    if isinstance(definition, Function | ast.ClassDef):
        start, end = source.span(definition)
        header = re.compile(rf"\b(?:def|class)\s+({name})\b").search(source.text, start, end)
        if header:
            yield header.span(1)
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(attr=attribute) if is_member and attribute == name:
                _, end = source.span(node)
                yield end - len(name), end
            case ast.Name(id=variable) if variable == name and (
                not is_member or source.parents.get(node) is definition
            ):
                yield source.span(node)
            case ast.Constant(value=text) if text == name and not is_member and _is_public_list(source, node):
                start, end = source.span(node)
                yield start + 1, end - 1
            case _:
                pass


def _is_public_list(source: Source, text: ast.Constant) -> bool:
    match [*source.around(text)][:2]:
        case [ast.List() | ast.Tuple(), ast.Assign(targets=[ast.Name(id="__all__")])]:
            return True
        case _:
            return False
