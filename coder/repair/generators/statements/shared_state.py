"""One list or dictionary for all where each is meant to have its own."""

import ast
from collections.abc import Iterator

from coder.core.ports.repair import Change
from coder.python.source import Function, is_docstring
from coder.repair.context.site import Rewrite, Site

MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def shared(site: Site) -> Iterator[Rewrite]:
    """`[[] for _ in range(n)]` for `[[]] * n`, `{key: [] for key in x}` for `dict.fromkeys(x, [])`, `self.x` for a class's `x = []`."""
    code = site.source.code
    match site.node:
        case ast.BinOp(left=ast.List(elts=[only]), op=ast.Mult(), right=times) if _is_mutable(only):
            yield from site.replace(
                site.node,
                f"[{code(only)} for _ in range({code(times)})]",
                weight=1.0,
                summary="make each its own",
            )
        case ast.Call(func=ast.Attribute(value=ast.Name(id="dict"), attr="fromkeys"), args=[keys, value]) if (
            _is_mutable(value)
        ):
            text = f"{{key: {code(value)} for key in {code(keys)}}}"
            yield from site.replace(site.node, text, weight=1.0, summary="give each key its own")
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_mutable(value) and isinstance(
            site.parent, ast.ClassDef
        ):
            yield from _of_each_object(site, site.node, site.parent, f"self.{name} = {code(value)}")
        case _:
            pass


def _is_mutable(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Mult()):
            return _is_mutable(left)
        case ast.Call(func=ast.Name(id="list" | "dict" | "set")):
            return True
        case _:
            return isinstance(node, MUTABLE)


def _of_each_object(site: Site, there: ast.Assign, owner: ast.ClassDef, line: str) -> Iterator[Rewrite]:
    """The constructor makes it, at its beginning; where there is none, one that does what the parents' did."""
    summary, source = f"make `{line[:40]}` for each object", site.source
    made = next((item for item in owner.body if isinstance(item, Function) and item.name == "__init__"), None)
    indent, (start, end) = source.indent(there), source.span(there)
    first = next((item for item in made.body if not is_docstring(item)), None) if made else None
    if first is not None:
        yield from Site(source, first, site.failures).before(first, [line], weight=0.7, summary=summary)
    elif made is None and not indent.strip():
        further = f"{indent}    " if "\t" not in indent else f"{indent}\t"
        plain = not owner.bases and not owner.keywords
        header = "def __init__(self):" if plain else "def __init__(self, *args, **kwargs):"
        body = [line] if plain else ["super().__init__(*args, **kwargs)", line]
        text = f"{source.line_end}{further}".join([header, *body])
        yield Rewrite((Change(start=start, end=end, text=text),), 0.7, summary)
