"""Mutable objects shared by elements, keys or instances that need their own."""

import ast
from collections.abc import Iterator

from coder.core.ports import TextChange
from coder.python.source import Function, is_docstring
from coder.repair.context.site import Rewrite, RewriteSite

MUTABLE_LITERALS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def shared(site: RewriteSite) -> Iterator[Rewrite]:
    """Create separate objects: `[[] for _ in range(n)]` for `[[]] * n`.

    Likewise for `dict.fromkeys` and for mutable class attributes.
    """
    code = site.source.text_of
    match site.node:
        case ast.BinOp(left=ast.List(elts=[element]), op=ast.Mult(), right=count) if _is_mutable(element):
            yield from site.replace_expression(
                site.node,
                f"[{code(element)} for _ in range({code(count)})]",
                weight=1.0,
                summary="create a separate object for each element",
            )
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"), args=[keys, value]) if (
            _is_mutable(value)
        ):
            text = f"{{key: {code(value)} for key in {code(keys)}}}"
            yield from site.replace_expression(
                site.node, text, weight=1.0, summary="create a separate object for each key"
            )
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_mutable(value) and isinstance(
            site.parent, ast.ClassDef
        ):
            yield from _move_to_constructor(site, site.node, site.parent, f"self.{name} = {code(value)}")
        case _:
            pass


def _is_mutable(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult()):
            return _is_mutable(left)
        case ast.Call(func=ast.Name(id="list" | "dict" | "set")):
            return True
        case _:
            return isinstance(node, MUTABLE_LITERALS)


def _move_to_constructor(
    site: RewriteSite, assignment: ast.Assign, owner: ast.ClassDef, line: str
) -> Iterator[Rewrite]:
    """Move a class attribute to the constructor; create one that calls the parents' if there is none."""
    summary, source = f"set `{line[:40]}` in the constructor", site.source
    constructor = next(
        (
            statement
            for statement in owner.body
            if isinstance(statement, Function) and statement.name == "__init__"
        ),
        None,
    )
    indent, (start, end) = source.indent(assignment), source.span(assignment)
    first = (
        next((statement for statement in constructor.body if not is_docstring(statement)), None)
        if constructor
        else None
    )
    if first is not None:
        yield from RewriteSite(source, first, site.failures).insert_before(
            first, [line], weight=0.7, summary=summary
        )
    elif constructor is None and not indent.strip():
        inner_indent = f"{indent}    " if "\t" not in indent else f"{indent}\t"
        has_no_parents = not owner.bases and not owner.keywords
        header = "def __init__(self):" if has_no_parents else "def __init__(self, *args, **kwargs):"
        body = [line] if has_no_parents else ["super().__init__(*args, **kwargs)", line]
        text = f"{source.line_end}{inner_indent}".join([header, *body])
        yield Rewrite((TextChange(start=start, end=end, text=text),), 0.7, summary)
