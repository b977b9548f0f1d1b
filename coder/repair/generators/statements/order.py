"""Statements in the wrong order or in the wrong block, or that should not be there."""

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports.repair import Change
from coder.python.source import Source, is_docstring
from coder.repair.context.donor_code import visible
from coder.repair.context.site import Rewrite, Site

MOST_MANAGERS = 3
LOOPS = (ast.For, ast.While, ast.AsyncFor)


def statement_order(site: Site) -> Iterator[Rewrite]:
    """A statement and the one after it change places."""
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or site.function is None
        or site.node is site.function
        or is_docstring(node)
    ):
        return
    block = site.source.block(node)
    place = block.index(node)
    if place + 1 < len(block) and _stand_apart(site, node, block[place + 1]):
        weight = 0.4 if not isinstance(node, ast.Return | ast.Raise) else 0.1
        yield from site.swap(node, block[place + 1], weight=weight, summary="swap two statements")


def indentation(site: Site) -> Iterator[Rewrite]:
    """The last statement of a loop or condition moves out of it, or the one after it moves in; what one branch does is done in any case."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None or site.source.indent(node).strip():
        return
    parent = site.parent
    block = site.source.block(node)
    if (
        isinstance(parent, (*LOOPS, ast.If, ast.With))
        and not getattr(parent, "orelse", [])
        and len(block) > 1
        and block[-1] is node
    ):
        yield from _moved(site, node, site.source.indent(parent), 0.5, "out of the block")
    place = block.index(node)
    before = block[place - 1] if place else None
    if isinstance(before, (*LOOPS, ast.If, ast.With)) and not getattr(before, "orelse", []):
        yield from _moved(site, node, site.source.indent(before.body[-1]), 0.35, "into the block before")
    if isinstance(node, ast.If) and node.orelse:
        yield from _in_any_case(site, node)


def begun_again(site: Site) -> Iterator[Rewrite]:
    """What a loop sets to the same at each turn is set before it."""
    match site.node, site.parent:
        case ast.Assign(targets=[ast.Name()], value=value) as node, ast.For() | ast.While() as loop if (
            loop.body[0] is node and loop.body[1:]
        ):
            plain = isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Set) or (
                isinstance(value, ast.Call) and not value.args
            )
            indent = site.source.indent(loop)
            if plain and not indent.strip() and not site.source.indent(node).strip():
                start, _ = site.source.span(loop)
                before = Change(
                    start=start, end=start, text=f"{site.source.code(node)}{site.source.line_end}{indent}"
                )
                yield Rewrite(
                    (before, _removed(site, node)),
                    0.6,
                    f"do `{site.source.code(node)[:40]}` once, before the loop",
                )
        case _:
            pass


def exchanged(site: Site) -> Iterator[Rewrite]:
    """`a, b = b, a` for `a = b` and `b = a` after it."""
    node = site.node
    block = site.source.block(node) if isinstance(node, ast.Assign) else []
    following = block[block.index(node) + 1] if node in block[:-1] else None
    match node, following:
        case ast.Assign(targets=[one], value=first), ast.Assign(targets=[other], value=second):
            texts = [site.source.code(part) for part in (one, first, other, second)]
            if texts[0] == texts[3] and texts[1] == texts[2]:
                start, end = site.source.span(node)[0], site.source.span(following)[1]
                new = f"{texts[0]}, {texts[1]} = {texts[1]}, {texts[0]}"
                yield Rewrite((Change(start=start, end=end, text=new),), 1.2, "exchange both at once")
        case _:
            pass


def _in_any_case(site: Site, node: ast.If) -> Iterator[Rewrite]:
    """What only one branch does, which need not be the one that was taken, is done behind both."""
    _, end = site.source.span(node)
    for block in (node.body, node.orelse):
        for item in block if len(block) > 1 else ():
            code = site.source.code(item)
            if isinstance(item, ast.Assign | ast.AugAssign | ast.Expr) and "\n" not in code:
                after = Change(
                    start=end, end=end, text=f"{site.source.line_end}{site.source.indent(node)}{code}"
                )
                yield Rewrite((_removed(site, item), after), 0.3, f"do `{code[:40]}` in any case")


def enclosed(site: Site) -> Iterator[Rewrite]:
    """A statement under a `with` that the file has around others."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Delete | ast.Return)
        or is_docstring(node)
    ):
        return
    code, indent = site.source.code(node), site.source.indent(node)
    around = {_opening(site.source, item) for item in site.source.around(node) if isinstance(item, ast.With)}
    for rank, (text, names) in enumerate(_managers(site.source)):
        if (
            names <= visible(site.source, function)
            and text not in around
            and "\n" not in code
            and not indent.strip()
        ):
            new = f"{text}{site.source.line_end}{indent}    {code}"
            start, end = site.source.span(node)
            yield Rewrite(
                (Change(start=start, end=end, text=new),), 0.3 * 0.9**rank, f"do it under `{text[:40]}`"
            )


def deletion(site: Site) -> Iterator[Rewrite]:
    """A simple statement goes away: rarely right, and often enough to satisfy a weak test."""
    node = site.node
    if (
        not isinstance(
            node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.Raise | ast.Break | ast.Continue
        )
        or site.function is None
    ):
        return
    if is_docstring(node) or site.source.indent(node).strip():
        return
    start, end = site.source.span(node)
    first_line = site.source.code(node).split("\n")[0]
    if len(site.source.block(node)) == 1:
        yield Rewrite(
            (Change(start=start, end=end, text="pass"),), 0.2, f"do nothing instead of `{first_line[:40]}`"
        )
    else:
        yield Rewrite((_removed(site, node),), 0.25, f"remove `{first_line[:40]}`")


@lru_cache(maxsize=256)
def _managers(source: Source) -> list[tuple[str, frozenset[str]]]:
    """What the file has after `with` where nothing is kept of it, the most usual first, with the names that it reads."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.With) and all(not item.optional_vars for item in node.items)
    ]
    counted = Counter(_opening(source, node) for node in found)
    reads = {_opening(source, node): _read(node) for node in found}
    return [(text, reads[text]) for text, _ in counted.most_common(MOST_MANAGERS)]


def _opening(source: Source, node: ast.With) -> str:
    return f"with {', '.join(source.code(item.context_expr) for item in node.items)}:"


def _read(node: ast.With) -> frozenset[str]:
    return frozenset(
        entry.id for item in node.items for entry in ast.walk(item) if isinstance(entry, ast.Name)
    )


def _removed(site: Site, node: ast.stmt) -> Change:
    """From the end of the line before, so that what is removed lies within the function's body, unless it is its first statement."""
    start, end = site.source.span(node)
    block = site.source.block(node)
    place = block.index(node)
    if place and _stand_apart(site, block[place - 1], node):
        return Change(start=site.source.span(block[place - 1])[1], end=end, text="")
    return Change(
        start=start, end=site.source.span(block[place + 1])[0] if place + 1 < len(block) else end, text=""
    )


def _moved(site: Site, node: ast.stmt, indent: str, weight: float, where: str) -> Iterator[Rewrite]:
    """Give all lines of a statement another indent."""
    first, _ = site.source.lines_of(node)
    _, end = site.source.span(node)
    old = site.source.text[first:end]
    plain = textwrap.dedent(old)
    new = "".join(indent + line if line.strip() else line for line in plain.splitlines(keepends=True))
    if new != old and '"""' not in old and "'''" not in old:
        yield Rewrite((Change(start=first, end=end, text=new),), weight, f"move a statement {where}")


def _stand_apart(site: Site, first: ast.stmt, second: ast.stmt) -> bool:
    """Does nothing but white space stand between two statements, and each on lines of its own?"""
    between = site.source.text[site.source.span(first)[1] : site.source.span(second)[0]]
    return not between.strip() and "\n" in between and not site.source.indent(first).strip()
