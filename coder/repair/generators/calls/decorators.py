"""Missing and superfluous decorators."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import Function, PythonSource
from coder.repair.context.imports import first_importable_statement
from coder.repair.context.scope import module_names, parameter_names
from coder.repair.context.site import Rewrite, RewriteSite

MOST = 4
QUOTED_NAME_WEIGHT = 1.5
"""Weight of `wraps` if a failure message quotes the name of the wrapper."""
SINGLE_USE_SUFFIXES = ("setter", "getter", "deleter", "overload", "register")
"""Decorators with such a suffix concern a single function."""


def decorated(site: RewriteSite) -> Iterator[Rewrite]:
    """Add a decorator: `@property`, `@staticmethod`, `@wraps(f)`, or one of its siblings."""
    node = site.node
    if not isinstance(node, Function):
        return
    present = [site.source.text_of(decorator) for decorator in node.decorator_list]
    is_quoted = any(f"'{node.name}'" in failure.message for failure in site.failures)
    for text, base_weight in _decorator_weights(site.source, node).items():
        weight = QUOTED_NAME_WEIGHT if is_quoted and "wraps(" in text else base_weight
        if text not in present:
            for rewrite in site.insert_before(
                node, [f"@{text}"], weight=weight, summary=f"add the decorator `{text}`"
            ):
                yield replace(rewrite, changes=(*_missing_import(site, text), *rewrite.changes))


def undecorated(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove one of the function's decorators."""
    for decorator in site.node.decorator_list if isinstance(site.node, Function) else ():
        text = site.source.text_of(decorator)
        start, end = _line_of(decorator, site.source)
        if site.source.text[start:end].strip() == f"@{text}":
            yield Rewrite(
                (TextChange(start=start, end=end, text=""),), 0.35, f"remove the decorator `{text[:40]}`"
            )


def _decorator_weights(source: PythonSource, function: Function) -> dict[str, float]:
    owner, parameters = source.owner_class(function), [*function.args.posonlyargs, *function.args.args]
    weights = {text: 0.4 * 0.9**rank for rank, text in enumerate(_common_decorators(source, owner)[:MOST])}
    if owner:
        first = parameters[0].arg if parameters else ""
        by_first_parameter = {
            "self": ("property", 0.4) if len(parameters) == 1 else None,
            "cls": ("classmethod", 0.8),
        }.get(first, ("staticmethod", 0.6))
        weights |= (
            {by_first_parameter[0]: max(by_first_parameter[1], weights.get(by_first_parameter[0], 0.0))}
            if by_first_parameter
            else {}
        )
    outer = None if owner else source.enclosing_function(source.parents[function])
    wraps = "wraps" if "wraps" in module_names(source) else "functools.wraps"
    if outer:
        called_names = {
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        for name in parameter_names(outer):
            if name in called_names:
                weights[f"{wraps}({name})"] = 0.7
    return weights


def _missing_import(site: RewriteSite, text: str) -> Iterator[TextChange]:
    """Yield the import of functools if the decorator needs it and the module lacks it."""
    if text.startswith("functools.") and "functools" not in module_names(site.source):
        start, _ = site.source.span(first_importable_statement(site.source))
        yield TextChange(start=start, end=start, text=f"import functools{site.source.line_end}")


@lru_cache(maxsize=256)
def _common_decorators(source: PythonSource, owner: ast.ClassDef | None) -> tuple[str, ...]:
    """Return the decorators used in the class, or on the file's functions, most frequent first."""
    nodes = (
        decorator_node
        for function in source.functions
        if source.owner_class(function) is owner
        for decorator_node in function.decorator_list
    )
    plain = (
        decorator
        for decorator in nodes
        if not (isinstance(decorator, ast.Attribute) and decorator.attr in SINGLE_USE_SUFFIXES)
    )
    return tuple(
        text
        for text, _ in Counter(map(source.text_of, plain)).most_common()
        if not text.endswith(SINGLE_USE_SUFFIXES) and "\n" not in text
    )


def _line_of(decorator: ast.expr, source: PythonSource) -> tuple[int, int]:
    """Return the span from the start of a decorator's line to the start of the next line."""
    start, end = source.span(decorator)
    first = source.text.rfind("\n", 0, start) + 1
    following = source.text.find("\n", end)
    return first, following + 1 if following >= 0 else len(source.text)
