"""What may let a loop come to its end, where a test did not."""

import ast
import re
from collections.abc import Iterator, Sequence

from coder.core.ports.repair import Change
from coder.core.values.verdict import Failure
from coder.python.source import Function, Source
from coder.repair.context.scope import stored

Loop = ast.While | ast.For
ENDLESS = "TooLong"
"""The type of a failure whose test was ended, because it did not end by itself."""
LEAVES = re.compile(r"\b(?:break|return|raise)\b")
CHANGED = r"\b(?:{})\b(?:\s*(?:[-+*/%&|^]|//|<<|>>)?=(?!=)|\.\w+\()"


def never_ended(failures: Sequence[Failure]) -> bool:
    return any(failure.type == ENDLESS for failure in failures)


def may_end(source: Source, node: ast.AST, changes: Sequence[Change]) -> bool:
    """Does an edit at a node change what a loop around it asks, what that is about, or whether it is left?"""
    loops = list(_loops(source, node))
    if not loops:
        return False
    inner = [node, *source.around(node)]
    asking = any(item in inner for loop in loops for item in _asking(loop))
    names = {
        name.id
        for loop in loops
        for item in _asking(loop)
        for name in ast.walk(item)
        if isinstance(name, ast.Name)
    }
    statement = next(item for item in inner if isinstance(item, ast.stmt))
    given = {*stored(statement)} if isinstance(statement, ast.Assign | ast.AugAssign) else set()
    text = "\n".join(change.text for change in changes)
    told = re.search(CHANGED.format("|".join(map(re.escape, sorted(names)))), text) if names else None
    return asking or bool(names & given or told or LEAVES.search(text))


def _loops(source: Source, node: ast.AST) -> Iterator[Loop]:
    for item in (node, *source.around(node)):
        if isinstance(item, Function):
            return
        if isinstance(item, Loop):
            yield item


def _asking(loop: Loop) -> Iterator[ast.expr]:
    """What decides whether a loop goes on: its condition, or what it goes through, and the conditions under which it is left."""
    yield loop.iter if isinstance(loop, ast.For) else loop.test
    for node in ast.walk(loop):
        if isinstance(node, ast.If) and any(
            isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(node)
        ):
            yield node.test
