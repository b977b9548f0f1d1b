"""Exceptions of the wrong type, raised or caught."""

import ast
import builtins
from collections.abc import Iterator

from coder.repair.site import Rewrite, Site

NEIGHBOURS = ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "LookupError", "RuntimeError", "StopIteration")


def exception_type(site: Site) -> Iterator[Rewrite]:
    """Raise or catch another built-in exception; catch the one that came through as well."""
    match site.node:
        case ast.Raise(exc=ast.Call(func=ast.Name() as name)) | ast.Raise(exc=ast.Name() as name) if _is_builtin(name.id):
            for rank, other in enumerate(one for one in NEIGHBOURS if one != name.id):
                yield from site.replace(name, other, weight=0.6 * 0.9**rank, summary=f"raise {other} instead of {name.id}")
        case ast.Try(handlers=handlers):
            for handler in handlers:
                yield from _caught(site, handler)
        case _:
            pass


def _caught(site: Site, handler: ast.ExceptHandler) -> Iterator[Rewrite]:
    if handler.type is None:
        return
    old = site.source.code(handler.type)
    names = [site.source.code(one) for one in handler.type.elts] if isinstance(handler.type, ast.Tuple) else [old]
    came = [failure.type for failure in site.failures if _is_builtin(failure.type) and failure.type not in (*names, "AssertionError")]
    for other in dict.fromkeys(came):
        yield from site.replace(handler.type, f"({', '.join([*names, other])})", weight=0.6, summary=f"catch {other} as well")
    for rank, other in enumerate(one for one in dict.fromkeys([*came, *NEIGHBOURS]) if one not in names):
        yield from site.replace(handler.type, other, weight=0.5 * 0.85**rank, summary=f"catch {other} instead of {old}")


def _is_builtin(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, Exception)
