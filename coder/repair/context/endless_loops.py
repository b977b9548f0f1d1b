"""Edits that may let a loop terminate, for tests that timed out."""

import ast
import re
from collections.abc import Iterator, Sequence

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource
from coder.repair.context.scope import assigned_names

Loop = ast.While | ast.For
TIMEOUT_TYPE = "TooLong"
"""The type of a failure whose test was stopped because it did not end by itself."""
EXIT_PATTERN = re.compile(r"\b(?:break|return|raise)\b")
ASSIGNMENT_PATTERN = r"\b(?:{})\b(?:\s*(?:[-+*/%&|^]|//|<<|>>)?=(?!=)|\.\w+\()"


def has_timeout(failures: Sequence[Failure]) -> bool:
    """Tell whether a failing test was stopped because it did not end."""
    return any(failure.type == TIMEOUT_TYPE for failure in failures)


def may_terminate_loop(source: PythonSource, node: ast.AST, changes: Sequence[TextChange]) -> bool:
    """Tell whether an edit may let a loop around a node terminate.

    It may if it changes the condition of the loop, a variable of that condition, or an exit.
    """
    loops = list(_enclosing_loops(source, node))
    if not loops:
        return False
    ancestors = [node, *source.ancestors(node)]
    changes_condition = any(
        expression in ancestors for loop in loops for expression in _controlling_expressions(loop)
    )
    names = {
        name.id
        for loop in loops
        for expression in _controlling_expressions(loop)
        for name in ast.walk(expression)
        if isinstance(name, ast.Name)
    }
    statement = next(expression for expression in ancestors if isinstance(expression, ast.stmt))
    assigned = {*assigned_names(statement)} if isinstance(statement, ast.Assign | ast.AugAssign) else set()
    text = "\n".join(change.text for change in changes)
    name_change = (
        re.search(ASSIGNMENT_PATTERN.format("|".join(map(re.escape, sorted(names)))), text) if names else None
    )
    return changes_condition or bool(names & assigned or name_change or EXIT_PATTERN.search(text))


def _enclosing_loops(source: PythonSource, node: ast.AST) -> Iterator[Loop]:
    for ancestor in (node, *source.ancestors(node)):
        if isinstance(ancestor, Function):
            return
        if isinstance(ancestor, Loop):
            yield ancestor


def _controlling_expressions(loop: Loop) -> Iterator[ast.expr]:
    """Yield a loop's condition or iterable, and the conditions of its exits."""
    yield loop.iter if isinstance(loop, ast.For) else loop.test
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and any(
            isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(node)
        ):
            yield node.test
