"""Wrong return values: none where one is expected, the wrong variable, a return that comes too early."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function
from coder.repair.context.scope import local_names
from coder.repair.context.site import Rewrite, RewriteSite

RETURNING_SELF = frozenset({"__enter__", "__iter__", "__aenter__", "__aiter__"})
EXCEPTION_SUFFIXES = ("Error", "Exception")
RETURNED_VALUES = ("None", "True", "False", "[]", "0", "''")


def missing_return(site: RewriteSite) -> Iterator[Rewrite]:
    """Return the value of a discarded call, or a variable at the function's end."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None:
        return
    yield from _return_itself(site, node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        start, _ = site.source.span(node)
        weight = 0.7 if site.source.enclosing_block(node)[-1] is node else 0.3
        yield Rewrite(
            (TextChange(start=start, end=start, text="return "),), weight, "return the result of the call"
        )
        match node.value:
            case ast.Call(func=ast.Name(id="print"), args=[printed], keywords=[]):
                _, end = site.source.span(node)
                change = TextChange(start=start, end=end, text=f"return {site.source.text_of(printed)}")
                yield Rewrite((change,), 0.5, "return it instead of printing it")
            case _:
                pass
    yield from _return_opposite(site, site.function, node)
    yield from _return_after_loop(site, node)
    if _ends(site.function, node) and not isinstance(node, ast.Return | ast.Raise):
        returns_value = any(
            isinstance(descendant, ast.Return) and descendant.value is not None
            for descendant in ast.walk(site.function)
        )
        for rank, name in enumerate(reversed(local_names(site.source, node))):
            weight = (0.35 if returns_value else 0.7) * 0.93**rank
            yield from site.insert_after(node, [f"return {name}"], weight=weight, summary=f"return `{name}`")


def _return_itself(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Return a nested function or self at the end; raise an exception that is only created."""
    outer = site.parent
    if isinstance(node, Function) and isinstance(outer, Function) and outer.body[-1] is node:
        yield from site.insert_after(
            node, [f"return {node.name}"], weight=1.2, summary=f"return `{node.name}`"
        )
    method = site.function if site.source.owner_class(site.function) else None
    if method and _ends(method, node) and not isinstance(node, ast.Return | ast.Raise):
        returns_self = method.name in RETURNING_SELF
        if returns_self or any("NoneType" in failure.message for failure in site.failures):
            yield from site.insert_after(
                node, ["return self"], weight=1.5 if returns_self else 0.4, summary="return `self`"
            )
    match node:
        case (
            ast.Expr(value=ast.Call(func=ast.Name(id=name)))
            | ast.Return(value=ast.Call(func=ast.Name(id=name)))
        ) if name.endswith(EXCEPTION_SUFFIXES):
            start, _ = site.source.span(node)
            end = site.source.span(node.value)[0] if node.value else start
            yield Rewrite((TextChange(start=start, end=end, text="raise "),), 1.0, f"raise the {name}")
        case _:
            pass


def _return_opposite(site: RewriteSite, function: Function, node: ast.stmt) -> Iterator[Rewrite]:
    """Return the opposite at the end of a function that returns only True or only False."""
    returns = (descendant.value for descendant in ast.walk(function) if isinstance(descendant, ast.Return))
    constants = {value.value if isinstance(value, ast.Constant) else None for value in returns}
    if (
        _ends(function, node)
        and isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try)
        and len(constants) == 1
    ):
        for truth in (descendant for descendant in constants if isinstance(descendant, bool)):
            yield from site.insert_after(
                node, [f"return {not truth}"], weight=0.8, summary=f"return {not truth} otherwise"
            )


def _return_after_loop(site: RewriteSite, node: ast.stmt) -> Iterator[Rewrite]:
    """Move a return in the `else` of a loop's condition behind the loop."""
    match node:
        case ast.For(
            body=[*_, ast.If(body=[*_, ast.Return()], orelse=[ast.Return() as otherwise]) as last], orelse=[]
        ):
            text = site.source.text
            start, end = site.source.span(last.body[-1])[1], site.source.span(otherwise)[1]
            if text[start:end].lstrip().startswith("else"):
                line = f"{site.source.line_end}{site.source.indent(node)}{site.source.text_of(otherwise)}"
                yield Rewrite((TextChange(start=start, end=end, text=line),), 0.8, "return it after the loop")
        case _:
            pass


def returned_value(site: RewriteSite) -> Iterator[Rewrite]:
    """Return another variable or a constant."""
    node = site.node
    if not isinstance(node, ast.Return):
        return
    start, end = site.source.span(node)
    for rank, name in enumerate(local_names(site.source, node)):
        if not isinstance(node.value, ast.Name):
            yield from _return_value(start, end, name, 0.3 * 0.95**rank)
    for value in RETURNED_VALUES:
        if node.value is None or not isinstance(node.value, ast.Constant):
            yield from _return_value(start, end, value, 0.12)


def _return_value(start: int, end: int, value: str, weight: float) -> Iterator[Rewrite]:
    yield Rewrite((TextChange(start=start, end=end, text=f"return {value}"),), weight, f"return `{value}`")


def _ends(function: Function, statement: ast.stmt) -> bool:
    return function.body[-1] is statement
