"""Donor code: fragments of a file that can be reused elsewhere in it.

The plastic surgery hypothesis is from E. T. Barr et al. (FSE 2014).
"""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from coder.python.source import Function, PythonSource, find_nodes, is_docstring
from coder.repair.generators.site import assigned_names, module_names, parameter_names

MAX_FRAGMENT_LENGTH = 160
"""Characters of a fragment that may be copied."""
MAX_FRAGMENT_LINES = 3
SAME_FUNCTION, SAME_CLASS, SAME_FILE = 1.0, 0.7, 0.5
BUILTIN_NAMES = frozenset(dir(builtins))
SIMPLE_STATEMENTS = (
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
class DonorFragment:
    """A statement or an expression of the file that may be copied."""

    node: ast.AST
    text: str
    """Dedented by the column of the node."""
    names: frozenset[str]
    """The names it reads that its own function binds."""
    function: Function | None
    owner: ast.ClassDef | None


@lru_cache(maxsize=256)
def donor_statements(source: PythonSource) -> tuple[DonorFragment, ...]:
    """Return simple statements, and `if` statements around a single one, from top to bottom."""
    pieces = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and _is_copyable(node) and (piece := _build_piece(source, node)):
            pieces.append(piece)
    return tuple(sorted(pieces, key=lambda piece: piece.node.lineno))  # type: ignore[attr-defined]  # statements have a line number


@lru_cache(maxsize=256)
def donor_conditions(source: PythonSource) -> tuple[DonorFragment, ...]:
    """Return the conditions of if, while and comprehensions, and the operands of `and` and `or`."""
    nodes: dict[ast.expr, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                nodes[test] = None
            case ast.comprehension(ifs=tests):
                nodes |= dict.fromkeys(tests)
            case ast.BoolOp(values=values):
                nodes |= dict.fromkeys(values)
    return tuple(piece for node in nodes if not _suspends(node) and (piece := _build_piece(source, node)))


def _suspends(node: ast.expr) -> bool:
    """Tell whether an expression yields or awaits, so that it works only in its own function."""
    return any(isinstance(descendant, ast.Yield | ast.YieldFrom | ast.Await) for descendant in ast.walk(node))


@lru_cache(maxsize=256)
def calls_by_callee(source: PythonSource) -> dict[str, tuple[ast.Call, ...]]:
    """Return the file's calls by the unqualified name of the callee."""
    calls_by_name: dict[str, list[ast.Call]] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and (name := callee_name(node)):
            calls_by_name.setdefault(name, []).append(node)
    return {name: tuple(nodes) for name, nodes in calls_by_name.items()}


def callee_name(call: ast.Call) -> str:
    """Return the unqualified name of the callee; empty if it has none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


@lru_cache(maxsize=4096)
def names_in_scope(source: PythonSource, function: Function | None) -> frozenset[str]:
    """Return the names that can be read in a function: local, enclosing, module-level and built-in."""
    return names_bound_in(source, function) | frozenset(module_names(source)) | BUILTIN_NAMES


@lru_cache(maxsize=4096)
def names_bound_in(source: PythonSource, function: Function | None) -> frozenset[str]:
    """Return the names that a function and those around it bind, including parameters."""
    names: set[str] = set()
    for ancestor in (
        (ancestor for ancestor in [function, *source.ancestors(function)] if isinstance(ancestor, Function))
        if function
        else ()
    ):
        names |= {*parameter_names(ancestor), *(argument.arg for argument in ancestor.args.args)}
        names |= {*assigned_names(ancestor)}
    return frozenset(names)


def proximity_of(piece: DonorFragment, function: Function | None, owner: ast.ClassDef | None) -> float:
    """Return the proximity of a fragment to a function, from 0 to 1."""
    if piece.function is function:
        return SAME_FUNCTION
    return SAME_CLASS if owner is not None and piece.owner is owner else SAME_FILE


def _is_copyable(node: ast.stmt) -> bool:
    match node:
        case ast.If(orelse=[], body=[inner]):
            return isinstance(inner, SIMPLE_STATEMENTS)
    return isinstance(node, SIMPLE_STATEMENTS) and not is_docstring(node)


def _build_piece(source: PythonSource, node: ast.AST) -> DonorFragment | None:
    function = source.enclosing_function(node)
    if function is None:
        return None
    text = f"({_dedent(source, node)})" if isinstance(node, ast.NamedExpr) else _dedent(source, node)
    if len(text) > MAX_FRAGMENT_LENGTH or text.count("\n") >= MAX_FRAGMENT_LINES or "#" in text:
        return None
    reads = frozenset(
        descendant.id for descendant in find_nodes(node, ast.Name) if isinstance(descendant.ctx, ast.Load)
    )
    local = (reads - _names_bound_within(node)) & names_bound_in(source, function)
    return DonorFragment(
        node=node, text=text, names=local, function=function, owner=source.owner_class(function)
    )


def _names_bound_within(node: ast.AST) -> frozenset[str]:
    """Return the names bound by comprehensions and lambdas inside a node: they are copied with it."""
    scopes = (scope for scope in ast.walk(node) if isinstance(scope, ast.comprehension | ast.Lambda))
    return frozenset(name for scope in scopes for name in _target_names(scope))


def _target_names(node: ast.comprehension | ast.Lambda) -> Iterator[str]:
    if isinstance(node, ast.Lambda):
        yield from (argument.arg for argument in node.args.args)
    else:
        yield from (descendant.id for descendant in find_nodes(node.target, ast.Name))


def _dedent(source: PythonSource, node: ast.AST) -> str:
    text = source.text_of(node).replace(source.line_end, "\n")
    first, *rest = text.split("\n")
    column = getattr(node, "col_offset", 0)
    return "\n".join(
        [first, *(line[column:] if not line[:column].strip() else line.lstrip() for line in rest)]
    )
