"""Statements in the wrong order or block, and superfluous statements."""

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from coder.core.ports import TextChange
from coder.python.source import PythonSource, is_docstring
from coder.repair.context.donor_code import names_in_scope
from coder.repair.context.site import Rewrite, RewriteSite

MOST_MANAGERS = 3
LOOPS = (ast.For, ast.While, ast.AsyncFor)


def statement_order(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap a statement with the next one."""
    node = site.node
    if (
        not isinstance(node, ast.stmt)
        or site.function is None
        or site.node is site.function
        or is_docstring(node)
    ):
        return
    block = site.source.enclosing_block(node)
    place = block.index(node)
    if place + 1 < len(block) and _are_separate(site, node, block[place + 1]):
        weight = 0.4 if not isinstance(node, ast.Return | ast.Raise) else 0.1
        yield from site.swap_expressions(node, block[place + 1], weight=weight, summary="swap two statements")


def indentation(site: RewriteSite) -> Iterator[Rewrite]:
    """Move a statement out of or into a block, or a statement of one branch behind both."""
    node = site.node
    if not isinstance(node, ast.stmt) or site.function is None or site.source.indent(node).strip():
        return
    parent = site.parent
    block = site.source.enclosing_block(node)
    if (
        isinstance(parent, (*LOOPS, ast.If, ast.With))
        and not getattr(parent, "orelse", [])
        and len(block) > 1
        and block[-1] is node
    ):
        yield from _move_statement(site, node, site.source.indent(parent), 0.5, "out of the block")
    place = block.index(node)
    before = block[place - 1] if place else None
    if isinstance(before, (*LOOPS, ast.If, ast.With)) and not getattr(before, "orelse", []):
        yield from _move_statement(
            site, node, site.source.indent(before.body[-1]), 0.35, "into the block before"
        )
    if isinstance(node, ast.If) and node.orelse:
        yield from _move_behind_branches(site, node)


def begun_again(site: RewriteSite) -> Iterator[Rewrite]:
    """Move an initialization from the start of a loop's body to before the loop."""
    match site.node, site.parent:
        case ast.Assign(targets=[ast.Name()], value=value) as node, ast.For() | ast.While() as loop if (
            loop.body[0] is node and loop.body[1:]
        ):
            is_initial_value = isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Set) or (
                isinstance(value, ast.Call) and not value.args
            )
            indent = site.source.indent(loop)
            if is_initial_value and not indent.strip() and not site.source.indent(node).strip():
                start, _ = site.source.span(loop)
                before = TextChange(
                    start=start, end=start, text=f"{site.source.text_of(node)}{site.source.line_end}{indent}"
                )
                yield Rewrite(
                    (before, _remove_statement(site, node)),
                    0.6,
                    f"move `{site.source.text_of(node)[:40]}` before the loop",
                )
        case _:
            pass


def exchanged(site: RewriteSite) -> Iterator[Rewrite]:
    """Swap in one statement: `a, b = b, a` for `a = b` followed by `b = a`."""
    node = site.node
    block = site.source.enclosing_block(node) if isinstance(node, ast.Assign) else []
    following = block[block.index(node) + 1] if node in block[:-1] else None
    match node, following:
        case ast.Assign(targets=[first_target], value=first_value), ast.Assign(
            targets=[second_target], value=second_value
        ):
            texts = [
                site.source.text_of(part) for part in (first_target, first_value, second_target, second_value)
            ]
            if texts[0] == texts[3] and texts[1] == texts[2]:
                start, end = site.source.span(node)[0], site.source.span(following)[1]
                new = f"{texts[0]}, {texts[1]} = {texts[1]}, {texts[0]}"
                yield Rewrite((TextChange(start=start, end=end, text=new),), 1.2, "swap both values at once")
        case _:
            pass


def _move_behind_branches(site: RewriteSite, node: ast.If) -> Iterator[Rewrite]:
    """Move a statement of one branch behind the whole `if`."""
    _, end = site.source.span(node)
    for block in (node.body, node.orelse):
        for statement in block if len(block) > 1 else ():
            code = site.source.text_of(statement)
            if isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) and "\n" not in code:
                after = TextChange(
                    start=end, end=end, text=f"{site.source.line_end}{site.source.indent(node)}{code}"
                )
                yield Rewrite(
                    (_remove_statement(site, statement), after), 0.3, f"run `{code[:40]}` in both branches"
                )


def enclosed(site: RewriteSite) -> Iterator[Rewrite]:
    """Wrap a statement in a `with` that the file uses elsewhere."""
    node, function = site.node, site.function
    if (
        function is None
        or not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Delete | ast.Return)
        or is_docstring(node)
    ):
        return
    code, indent = site.source.text_of(node), site.source.indent(node)
    enclosing_headers = {
        _with_header(site.source, ancestor)
        for ancestor in site.source.ancestors(node)
        if isinstance(ancestor, ast.With)
    }
    for rank, (text, names) in enumerate(_with_headers(site.source)):
        if (
            names <= names_in_scope(site.source, function)
            and text not in enclosing_headers
            and "\n" not in code
            and not indent.strip()
        ):
            new = f"{text}{site.source.line_end}{indent}    {code}"
            start, end = site.source.span(node)
            yield Rewrite(
                (TextChange(start=start, end=end, text=new),), 0.3 * 0.9**rank, f"wrap in `{text[:40]}`"
            )


def deletion(site: RewriteSite) -> Iterator[Rewrite]:
    """Remove a simple statement: rarely right, but often enough to satisfy a weak test."""
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
    first_line = site.source.text_of(node).split("\n")[0]
    if len(site.source.enclosing_block(node)) == 1:
        yield Rewrite(
            (TextChange(start=start, end=end, text="pass"),), 0.2, f"replace `{first_line[:40]}` with `pass`"
        )
    else:
        yield Rewrite((_remove_statement(site, node),), 0.25, f"remove `{first_line[:40]}`")


@lru_cache(maxsize=256)
def _with_headers(source: PythonSource) -> list[tuple[str, frozenset[str]]]:
    """Return the most common `with` headers without targets, with the names that they read."""
    statements = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.With) and all(not with_item.optional_vars for with_item in node.items)
    ]
    counts = Counter(_with_header(source, node) for node in statements)
    reads = {_with_header(source, node): _names_read(node) for node in statements}
    return [(text, reads[text]) for text, _ in counts.most_common(MOST_MANAGERS)]


def _with_header(source: PythonSource, node: ast.With) -> str:
    return f"with {', '.join(source.text_of(with_item.context_expr) for with_item in node.items)}:"


def _names_read(node: ast.With) -> frozenset[str]:
    return frozenset(
        entry.id for with_item in node.items for entry in ast.walk(with_item) if isinstance(entry, ast.Name)
    )


def _remove_statement(site: RewriteSite, node: ast.stmt) -> TextChange:
    """Remove a statement.

    The change starts at the end of the previous statement if there is one, so that it lies within the
    function's body.
    """
    start, end = site.source.span(node)
    block = site.source.enclosing_block(node)
    position = block.index(node)
    if position and _are_separate(site, block[position - 1], node):
        return TextChange(start=site.source.span(block[position - 1])[1], end=end, text="")
    return TextChange(
        start=start,
        end=site.source.span(block[position + 1])[0] if position + 1 < len(block) else end,
        text="",
    )


def _move_statement(
    site: RewriteSite, node: ast.stmt, indent: str, weight: float, where: str
) -> Iterator[Rewrite]:
    """Give all lines of a statement another indent."""
    first, _ = site.source.line_span(node)
    _, end = site.source.span(node)
    old = site.source.text[first:end]
    plain = textwrap.dedent(old)
    new = "".join(indent + line if line.strip() else line for line in plain.splitlines(keepends=True))
    if new != old and '"""' not in old and "'''" not in old:
        yield Rewrite((TextChange(start=first, end=end, text=new),), weight, f"move a statement {where}")


def _are_separate(site: RewriteSite, first: ast.stmt, second: ast.stmt) -> bool:
    """Tell whether two statements are on separate lines with only white space between them."""
    between = site.source.text[site.source.span(first)[1] : site.source.span(second)[0]]
    return not between.strip() and "\n" in between and not site.source.indent(first).strip()
