"""A definition under another name than the one by which tests ask for it."""

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
    """The name that a test asks for, of a function, a class or a variable of the module whose own is alike; wherever the file says it."""
    for name in defined(site.node) if site.node in site.source.top_level else ():
        for asked in asked_for(site.failures):
            alike = likeness(name, asked)
            if alike >= LEAST_ALIKE and asked != name and not _is_there(site.source, asked):
                spans = sorted(_says(site.source, site.node, name))
                changes = tuple(Change(start=start, end=end, text=asked) for start, end in spans)
                yield Rewrite(changes, 1.0 + alike, f"call `{name}` `{asked}`, as tests do")


def asked_for(failures: Sequence[Failure]) -> tuple[str, ...]:
    """What tests themselves, and not the code that they test, found missing."""
    own = tuple(failure for failure in failures if failure.frames and is_test_path(failure.frames[-1].path))
    return tuple(sorted(said(own, IMPORT) | said(own, ATTRIBUTE)))


def defined(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _is_there(source: Source, name: str) -> bool:
    return any(name in defined(node) for node in source.top_level)


def _says(source: Source, definition: ast.AST, name: str) -> Iterator[tuple[int, int]]:
    """Where a file says the name of a definition: variables of that name, or attributes where it is a member of a class."""
    member = isinstance(source.parents.get(definition), ast.ClassDef)
    if isinstance(definition, Function | ast.ClassDef):
        start, end = source.span(definition)
        found = re.compile(rf"\b(?:def|class)\s+({name})\b").search(source.text, start, end)
        if found:
            yield found.span(1)
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(attr=attribute) if member and attribute == name:
                _, end = source.span(node)
                yield end - len(name), end
            case ast.Name(id=variable) if variable == name and (
                not member or source.parents.get(node) is definition
            ):
                yield source.span(node)
            case ast.Constant(value=text) if text == name and not member and _is_public_list(source, node):
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
