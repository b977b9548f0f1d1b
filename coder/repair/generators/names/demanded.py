"""Definitions with another name than the one tests use."""

import ast
import re
from collections.abc import Iterator, Sequence

from coder.core.paths import is_test_path
from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource
from coder.repair.context.scope import name_similarity
from coder.repair.context.site import Rewrite, RewriteSite
from coder.repair.generators.names.suggestions import UNKNOWN_ATTRIBUTE, UNKNOWN_IMPORT, find_in_messages

MIN_SIMILARITY = 0.6


def demanded(site: RewriteSite) -> Iterator[Rewrite]:
    """Rename a definition to the similar name that a test uses, wherever the file mentions it."""
    for name in defined_names(site.node) if site.node in site.source.top_level else ():
        for test_name in names_missing_in_tests(site.failures):
            ratio = name_similarity(name, test_name)
            if ratio >= MIN_SIMILARITY and test_name != name and not _is_defined(site.source, test_name):
                spans = sorted(_name_spans(site.source, site.node, name))
                changes = tuple(TextChange(start=start, end=end, text=test_name) for start, end in spans)
                yield Rewrite(changes, 1.0 + ratio, f"rename `{name}` to `{test_name}`, as tests expect")


def names_missing_in_tests(failures: Sequence[Failure]) -> tuple[str, ...]:
    """Return the names that tests themselves, not the code under test, found missing."""
    failures_in_tests = tuple(
        failure for failure in failures if failure.frames and is_test_path(failure.frames[-1].path)
    )
    return tuple(
        sorted(
            find_in_messages(failures_in_tests, UNKNOWN_IMPORT)
            | find_in_messages(failures_in_tests, UNKNOWN_ATTRIBUTE)
        )
    )


def defined_names(node: ast.AST) -> tuple[str, ...]:
    """Return the name that a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _is_defined(source: PythonSource, name: str) -> bool:
    return any(name in defined_names(node) for node in source.top_level)


def _name_spans(source: PythonSource, definition: ast.AST, name: str) -> Iterator[tuple[int, int]]:
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


def _is_public_list(source: PythonSource, text: ast.Constant) -> bool:
    match [*source.ancestors(text)][:2]:
        case [ast.List() | ast.Tuple(), ast.Assign(targets=[ast.Name(id="__all__")])]:
            return True
        case _:
            return False
