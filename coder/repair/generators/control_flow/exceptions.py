"""Exceptions of the wrong type, raised or caught."""

import ast
import builtins
import re
from collections.abc import Iterator

from coder.repair.context.donor_code import names_in_scope
from coder.repair.context.site import Rewrite, RewriteSite

SIMILAR_EXCEPTIONS = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "LookupError",
    "RuntimeError",
    "StopIteration",
)
EXPECTED_EXCEPTION = re.compile(r"(?:raises|assertRaises(?:Regex)?)\(\s*(?:\d+\s+)?\(?([A-Za-z_][\w.]*)")
"""How tests name the exception that they expect."""


def exception_type(site: RewriteSite) -> Iterator[Rewrite]:
    """Raise the exception the test expects, or another one; catch another type."""
    match site.node:
        case ast.Raise(exc=ast.Call(func=ast.Name() as name)) | ast.Raise(exc=ast.Name() as name):
            expected = [
                expected_name for expected_name in expected_exceptions(site) if expected_name != name.id
            ]
            others = (
                [
                    neighbour
                    for neighbour in SIMILAR_EXCEPTIONS
                    if neighbour != name.id and neighbour not in expected
                ]
                if _is_builtin(name.id)
                else []
            )
            for weight, names in ((0.9, expected), (0.6, others)):
                for rank, other in enumerate(names):
                    yield from site.replace_expression(
                        name, other, weight=weight * 0.9**rank, summary=f"raise {other} instead of {name.id}"
                    )
        case ast.Try(handlers=handlers):
            for handler in handlers:
                yield from _change_handler(site, handler)
        case _:
            pass


def expected_exceptions(site: RewriteSite) -> list[str]:
    """Return the exceptions that the failing tests expect, if another one was raised."""
    raised = {failure.type for failure in site.failures}
    expected = (
        name.rpartition(".")[2]
        for failure in site.failures
        for name in EXPECTED_EXCEPTION.findall(failure.text)
    )
    readable = names_in_scope(site.source, site.function)
    return [name for name in dict.fromkeys(expected) if name in readable and name not in raised]


def _change_handler(site: RewriteSite, handler: ast.ExceptHandler) -> Iterator[Rewrite]:
    if handler.type is None:
        return
    old = site.source.text_of(handler.type)
    names = (
        [site.source.text_of(elt) for elt in handler.type.elts]
        if isinstance(handler.type, ast.Tuple)
        else [old]
    )
    escaped = [
        failure.type
        for failure in site.failures
        if _is_builtin(failure.type) and failure.type not in (*names, "AssertionError")
    ]
    for other in dict.fromkeys(escaped):
        yield from site.replace_expression(
            handler.type, f"({', '.join([*names, other])})", weight=0.6, summary=f"also catch {other}"
        )
    for rank, other in enumerate(
        neighbour for neighbour in dict.fromkeys([*escaped, *SIMILAR_EXCEPTIONS]) if neighbour not in names
    ):
        yield from site.replace_expression(
            handler.type, other, weight=0.5 * 0.85**rank, summary=f"catch {other} instead of {old}"
        )


def _is_builtin(name: str) -> bool:
    builtin = getattr(builtins, name, None)
    return isinstance(builtin, type) and issubclass(builtin, Exception)
