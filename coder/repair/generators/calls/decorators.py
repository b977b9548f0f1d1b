"""A decorator that is missing, or one too many."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.python.source import Function, Source
from coder.repair.context.imports import first_statement
from coder.repair.context.scope import arguments_of, module_names
from coder.repair.context.site import Rewrite, Site

MOST = 4
SEEN = 1.5
"""What speaks for the name of another function where failures have seen that of the one which stands in for it."""
OWN_MATTER = ("setter", "getter", "deleter", "overload", "register")
"""What ends so says something about one function only."""


def decorated(site: Site) -> Iterator[Rewrite]:
    """`@property` where others of the class have it, `@staticmethod` without self, `@wraps(f)` for what stands in for `f`."""
    node = site.node
    if not isinstance(node, Function):
        return
    there = [site.source.code(item) for item in node.decorator_list]
    seen = any(f"'{node.name}'" in failure.message for failure in site.failures)
    for text, likely in _likely(site.source, node).items():
        weight = SEEN if seen and "wraps(" in text else likely
        if text not in there:
            for rewrite in site.before(
                node, [f"@{text}"], weight=weight, summary=f"decorate it with `{text}`"
            ):
                yield replace(rewrite, changes=(*_imported(site, text), *rewrite.changes))


def undecorated(site: Site) -> Iterator[Rewrite]:
    """The function without one of its decorators."""
    for decorator in site.node.decorator_list if isinstance(site.node, Function) else ():
        text = site.source.code(decorator)
        start, end = _line_of(decorator, site.source)
        if site.source.text[start:end].strip() == f"@{text}":
            yield Rewrite(
                (Change(start=start, end=end, text=""),), 0.35, f"do not decorate it with `{text[:40]}`"
            )


def _likely(source: Source, function: Function) -> dict[str, float]:
    owner, given = source.class_of(function), [*function.args.posonlyargs, *function.args.args]
    found = {text: 0.4 * 0.9**rank for rank, text in enumerate(_usual(source, owner)[:MOST])}
    if owner:
        first = given[0].arg if given else ""
        usual = {"self": ("property", 0.4) if len(given) == 1 else None, "cls": ("classmethod", 0.8)}.get(
            first, ("staticmethod", 0.6)
        )
        found |= {usual[0]: max(usual[1], found.get(usual[0], 0.0))} if usual else {}
    outer = None if owner else source.function(source.parents[function])
    wraps = "wraps" if "wraps" in module_names(source) else "functools.wraps"
    if outer:
        called = {
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        for name in arguments_of(outer):
            if name in called:
                found[f"{wraps}({name})"] = 0.7
    return found


def _imported(site: Site, text: str) -> Iterator[Change]:
    """Import what it needs of the standard library where the module does not."""
    if text.startswith("functools.") and "functools" not in module_names(site.source):
        start, _ = site.source.span(first_statement(site.source))
        yield Change(start=start, end=start, text=f"import functools{site.source.line_end}")


@lru_cache(maxsize=256)
def _usual(source: Source, owner: ast.ClassDef | None) -> tuple[str, ...]:
    """What the class decorates its methods with, or the file its functions, the most frequent first."""
    decorators = (
        item
        for function in source.functions
        if source.class_of(function) is owner
        for item in function.decorator_list
    )
    plain = (
        decorator
        for decorator in decorators
        if not (isinstance(decorator, ast.Attribute) and decorator.attr in OWN_MATTER)
    )
    return tuple(
        text
        for text, _ in Counter(map(source.code, plain)).most_common()
        if not text.endswith(OWN_MATTER) and "\n" not in text
    )


def _line_of(decorator: ast.expr, source: Source) -> tuple[int, int]:
    """From the sign before it to the start of the next line."""
    start, end = source.span(decorator)
    first = source.text.rfind("\n", 0, start) + 1
    following = source.text.find("\n", end)
    return first, following + 1 if following >= 0 else len(source.text)
