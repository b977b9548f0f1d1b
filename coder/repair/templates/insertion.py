"""Statements that are missing: plain ones, and copies of those that stand in similar places."""

import ast
import re
from collections.abc import Iterator, Sequence

from coder.core.trials import Change
from coder.repair.scope import arguments_of, local_names, most_alike
from coder.repair.site import Rewrite, Site
from coder.repair.source import Function, is_docstring
from coder.repair.stock import Piece, nearness, statements, visible
from coder.repair.templates.suggestions import NAME, said

NOTHING_YET = ("[]", "{}", "0", "None", "''", "set()", "False")
MOST_COPIES = 60
MOST_RENAMED = 3
COPY = 0.3


def inserted(site: Site) -> Iterator[Rewrite]:
    """A plain statement before another, or instead of `pass`: keep a parameter, begin a variable, leave, go on."""
    node, function = site.node, site.function
    if not _is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    lines: dict[str, float] = {}
    for name in said(site.failures, NAME):
        if re.search(rf"\b{name}\b", site.source.code(node)):
            lines |= {f"{name} = {value}": 0.9 * 0.93**rank for rank, value in enumerate(NOTHING_YET)}
    if isinstance(node, ast.Pass) or node is function.body[-1]:
        lines |= {f"return {name}": 0.45 * 0.95**rank for rank, name in enumerate(local_names(site.source, node))}
    for name in _unread(function):
        lines |= {f"self.{name} = {name}": 0.6} if site.source.class_of(function) else {}
        lines |= {f"{other}.{way}({name})": 0.3 for other in _bound(function)[:4] for way in ("append", "add", "update", "extend")}
    if any(isinstance(one, ast.For | ast.While) for one in site.source.around(node)) and isinstance(node, ast.Pass):
        lines |= {"continue": 0.5, "break": 0.5}
    for line, weight in lines.items():
        yield from _put(site, node, [line], weight=weight)


def copied(site: Site) -> Iterator[Rewrite]:
    """A statement of the same function, class or file once more, with names that can be read here."""
    node, function = site.node, site.function
    if not _is_place(site) or function is None or not isinstance(node, ast.stmt):
        return
    owner = site.source.class_of(function)
    here = visible(site.source, function)
    own = local_names(site.source, node)
    beside = {site.source.code(one) for one in site.source.block(node)}
    found: dict[str, float] = {}
    for piece in statements(site.source):
        if not _may_stand(piece, site, function):
            continue
        near = COPY * nearness(piece, function, owner) * (1.4 if isinstance(node, ast.Pass) else 1.0)
        for text, weight in _renamed(piece, here, own):
            if text not in beside:
                found[text] = max(found.get(text, 0.0), near * weight)
    for text in sorted(found, key=lambda text: (-found[text], text))[:MOST_COPIES]:
        yield from _put(site, node, text.split("\n"), weight=found[text])


def _renamed(piece: Piece, here: frozenset[str], own: Sequence[str]) -> Iterator[tuple[str, float]]:
    """A piece as it is where all of its names can be read, else with the one that cannot replaced by one of here."""
    foreign = sorted(piece.names - here)
    if not foreign:
        yield piece.text, 1.0
    if len(foreign) == 1:
        for name, alike in most_alike(foreign[0], tuple(own), count=MOST_RENAMED, least=0.0):
            yield re.sub(rf"(?<![\w.]){re.escape(foreign[0])}\b", name, piece.text), 0.5 + 0.4 * alike


def _may_stand(piece: Piece, site: Site, function: Function) -> bool:
    match piece.node:
        case ast.Break() | ast.Continue():
            return False
        case ast.Return(value=value):
            # Behind it nothing would be reached: only as the last, or in the place of nothing.
            return value is not None and (isinstance(site.node, ast.Pass) or site.source.block(_statement(site))[-1] is site.node)
        case ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function))
        case _:
            return True


def _put(site: Site, node: ast.stmt, lines: Sequence[str], *, weight: float) -> Iterator[Rewrite]:
    what = f"add `{lines[0][:50]}`"
    if isinstance(node, ast.Pass):
        start, end = site.source.span(node)
        indent = site.source.indent(node)
        if not indent.strip():
            yield Rewrite((Change(start=start, end=end, text=f"{site.source.line_end}{indent}".join(lines)),), weight * 1.3, what)
        return
    if not lines[0].startswith(("return", "raise")):
        yield from site.before(node, lines, weight=weight, summary=what)
    if site.source.block(node)[-1] is node and not isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        yield from site.after(node, lines, weight=weight * 0.95, summary=what)


def _is_place(site: Site) -> bool:
    return isinstance(site.node, ast.stmt) and site.node is not site.function and not is_docstring(site.node)


def _statement(site: Site) -> ast.stmt:
    assert isinstance(site.node, ast.stmt)
    return site.node


def _unread(function: Function) -> list[str]:
    """Parameters that the function never reads."""
    read = {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    return [name for name in arguments_of(function) if name not in read]


def _bound(function: Function) -> list[str]:
    return list(dict.fromkeys(one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)))
