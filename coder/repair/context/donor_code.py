"""What a file holds already that can be put elsewhere in it: plastic surgery, after E. T. Barr et al. (FSE 2014)."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from coder.python.source import Function, Source, is_docstring
from coder.repair.context.scope import arguments_of, module_names, stored

LONGEST = 160
"""Characters of a piece of code that may be copied."""
MOST_LINES = 3
SAME_FUNCTION, SAME_CLASS, SAME_FILE = 1.0, 0.7, 0.5
BUILTIN = frozenset(dir(builtins))
SIMPLE = (
    ast.Assign,
    ast.AugAssign,
    ast.Expr,
    ast.Return,
    ast.Raise,
    ast.Continue,
    ast.Break,
    ast.Delete,
    ast.Assert,
)


@dataclass(frozen=True)
class Piece:
    """A statement or an expression that stands somewhere in the file."""

    node: ast.AST
    text: str
    """With the indent of its first line taken away."""
    names: frozenset[str]
    """What it reads of the names that its own function binds."""
    function: Function | None
    owner: ast.ClassDef | None


@lru_cache(maxsize=256)
def statements(source: Source) -> tuple[Piece, ...]:
    """Simple statements, and conditions with a single one of these below them, from top to bottom."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and _may_be_copied(node) and (piece := _piece(source, node)):
            found.append(piece)
    return tuple(sorted(found, key=lambda piece: piece.node.lineno))  # type: ignore[attr-defined]  # statements have one


@lru_cache(maxsize=256)
def conditions(source: Source) -> tuple[Piece, ...]:
    """What is asked for by if, while, and comprehensions, and the parts that `and` and `or` combine."""
    found: dict[ast.expr, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                found[test] = None
            case ast.comprehension(ifs=tests):
                found |= dict.fromkeys(tests)
            case ast.BoolOp(values=values):
                found |= dict.fromkeys(values)
            case _:
                pass
    return tuple(piece for node in found if not _hands_over(node) and (piece := _piece(source, node)))


def _hands_over(node: ast.expr) -> bool:
    """Is it a matter of its own function, which yields or awaits there?"""
    return any(isinstance(item, ast.Yield | ast.YieldFrom | ast.Await) for item in ast.walk(node))


@lru_cache(maxsize=256)
def calls(source: Source) -> dict[str, tuple[ast.Call, ...]]:
    """The file's calls by the bare name of what they call."""
    found: dict[str, list[ast.Call]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and (name := called(node)):
            found.setdefault(name, []).append(node)
    return {name: tuple(made) for name, made in found.items()}


def called(call: ast.Call) -> str:
    """The bare name of what is called; empty where it has none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


@lru_cache(maxsize=4096)
def visible(source: Source, function: Function | None) -> frozenset[str]:
    """Names that can be read in a function: its own, those around it, the module's and the built-in ones."""
    return bound(source, function) | frozenset(module_names(source)) | BUILTIN


@lru_cache(maxsize=4096)
def bound(source: Source, function: Function | None) -> frozenset[str]:
    """Names that a function and those around it bind, their parameters included."""
    names: set[str] = set()
    for item in (
        (item for item in [function, *source.around(function)] if isinstance(item, Function))
        if function
        else ()
    ):
        names |= {*arguments_of(item), *(given.arg for given in item.args.args)}
        names |= {*stored(item)}
    return frozenset(names)


def nearness(piece: Piece, function: Function | None, owner: ast.ClassDef | None) -> float:
    """How near a piece stands to a function, 0 to 1."""
    if piece.function is function:
        return SAME_FUNCTION
    return SAME_CLASS if owner is not None and piece.owner is owner else SAME_FILE


def _may_be_copied(node: ast.stmt) -> bool:
    match node:
        case ast.If(orelse=[], body=[inner]):
            return isinstance(inner, SIMPLE)
        case _:
            return isinstance(node, SIMPLE) and not is_docstring(node)


def _piece(source: Source, node: ast.AST) -> Piece | None:
    function = source.function(node)
    if function is None:
        return None
    text = f"({_dedented(source, node)})" if isinstance(node, ast.NamedExpr) else _dedented(source, node)
    if len(text) > LONGEST or text.count("\n") >= MOST_LINES or "#" in text:
        return None
    reads = frozenset(
        item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    )
    local = (reads - _bound(node)) & bound(source, function)
    return Piece(node=node, text=text, names=local, function=function, owner=source.class_of(function))


def _bound(node: ast.AST) -> frozenset[str]:
    """Names of comprehensions and lambdas inside: they come along."""
    inside = (item for item in ast.walk(node) if isinstance(item, ast.comprehension | ast.Lambda))
    return frozenset(name for item in inside for name in _names(item))


def _names(node: ast.comprehension | ast.Lambda) -> Iterator[str]:
    if isinstance(node, ast.Lambda):
        yield from (argument.arg for argument in node.args.args)
    else:
        yield from (item.id for item in ast.walk(node.target) if isinstance(item, ast.Name))


def _dedented(source: Source, node: ast.AST) -> str:
    text = source.code(node).replace(source.line_end, "\n")
    first, *rest = text.split("\n")
    column = getattr(node, "col_offset", 0)
    return "\n".join(
        [first, *(line[column:] if not line[:column].strip() else line.lstrip() for line in rest)]
    )
