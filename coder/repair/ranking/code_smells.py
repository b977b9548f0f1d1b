"""What smells in a function, whatever the tests say of it: what does nothing, what is lost, what is asked twice, what is avoided."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from coder.python.source import BLOCKS, Function, Source
from coder.repair.candidates import Candidate
from coder.repair.context.scope import arguments_of, stored

CHANGING = frozenset(
    {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
    }
)


def line_after(candidate: Candidate, source: Source) -> str:
    """The line on which the first change begins, as it is then."""
    text, start = candidate.edit.apply(source.text), candidate.edit.changes[0].start
    return text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]


def settles(line: str) -> bool:
    """Is there a condition that is always the same? What stands under it is always done, or never."""
    return re.search(r"\bif (?:not )?(?:True|False)\s*:", line) is not None


def spare_operations(function: Function) -> int:
    """How many operations do nothing, such as `x * 1`, `x[0:]`, `False or x`, `not (a != b)` and a condition both of whose branches are
    the same: what is meant is written without them.
    """
    return sum(_does_nothing(node) or _decides_nothing(node) for node in ast.walk(function))


def _does_nothing(node: ast.AST) -> bool:
    match node:
        case ast.BinOp(op=ast.Mult() | ast.FloorDiv() | ast.Pow(), right=ast.Constant(value=1)):
            return True
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=ast.Constant(value=0)):
            return True
        case (
            ast.BinOp(left=ast.Constant(value=1), op=ast.Mult())
            | ast.BinOp(left=ast.Constant(value=0), op=ast.Add())
        ):
            return True
        case ast.Slice(lower=ast.Constant(value=0)):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(op=ast.Not())):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()])):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(values=values)) if any(map(_denies, values)):
            return True
        case ast.BoolOp(values=values):
            return any(isinstance(value, ast.Constant) for value in values[:-1])
        case _:
            return False


def _decides_nothing(node: ast.AST) -> bool:
    match node:
        case ast.If(body=body, orelse=[_, *_] as orelse):
            return [*map(ast.dump, body)] == [*map(ast.dump, orelse)]
        case ast.IfExp(body=body, orelse=orelse):
            return ast.dump(body) == ast.dump(orelse)
        case _:
            return False


def _denies(node: ast.expr) -> bool:
    """`not` around what denies already says it the hard way."""
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()]):
            return True
        case _:
            return False


def changed_arguments(function: Function) -> int:
    """How many calls change what the function was given: who calls it seldom expects that."""
    given = {*arguments_of(function)} - {*stored(function)}
    called = (
        node.func
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return sum(
        func.attr in CHANGING and isinstance(func.value, ast.Name) and func.value.id in given
        for func in called
    )


def lost_values(function: Function) -> int:
    """How many values are put where others are put in the same block, and nothing looks at them in between."""
    return sum(
        _overwritten(block)
        for node in ast.walk(function)
        for name in BLOCKS
        for block in [getattr(node, name, None)]
        if isinstance(block, list)
    )


def _overwritten(block: Sequence[ast.stmt]) -> int:
    count = 0
    held: set[str] = set()
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
                read, put = ast.unparse(value), ast.unparse(target)
                held = {item for item in held if item not in read}
                count += put in held
                held.add(put)
            case _:
                held.clear()
    return count


def echoes(before: Function, after: Function, source: Source) -> bool:
    """Is something calculated or asked now that was not before, and that stands elsewhere in the file already?

    Most of what fixes need is there: E. T. Barr et al., "The Plastic Surgery Hypothesis" (FSE 2014).
    """
    said = Counter(operations(before))
    new = (one for one, count in Counter(operations(after)).items() if count > said[one])
    return any(item in operations_of(source) for item in new)


def operations(node: ast.AST) -> Iterator[str]:
    """What is calculated, compared and looked up under a node."""
    return (
        ast.dump(item)
        for item in ast.walk(node)
        if isinstance(item, ast.BinOp | ast.BoolOp | ast.Compare | ast.Subscript)
    )


@lru_cache(maxsize=256)
def operations_of(source: Source) -> frozenset[str]:
    """What is calculated, compared and looked up anywhere in a file."""
    return frozenset(operations(source.tree))


def repetitions(function: Function) -> int:
    """How many statements say what the one before them says, and how many calls are given a variable twice."""
    nodes = [*ast.walk(function)]
    blocks = [
        block for node in nodes for name in BLOCKS if isinstance(block := getattr(node, name, None), list)
    ]
    pairs = [pair for block in blocks for pair in pairwise(map(ast.dump, block))]
    return sum(one == other for one, other in pairs) + sum(
        _given_twice(node) for node in nodes if isinstance(node, ast.Call)
    )


def _given_twice(call: ast.Call) -> bool:
    names = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    told = any(
        isinstance(keyword.value, ast.Name) and keyword.arg == keyword.value.id in names
        for keyword in call.keywords
    )
    return told or len({*names}) < len(names)


def avoids(
    function: Function, names: frozenset[str], candidate: Candidate, source: Source, line: str
) -> bool:
    """Is a name that is not there left as it is, nothing that decides whether it is given a value is changed, and the edit not say it?

    In another function than the one that reads it an edit can only keep that from being executed.
    """
    used = names & {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    place = candidate.edit.line
    around = (
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node.lineno <= place <= (node.end_lineno or 0)
    )
    inner = max(around, key=lambda node: node.lineno, default=function)
    simple = not any(getattr(inner, name, None) for name in BLOCKS)
    told = {
        node.id
        for node in ast.walk(inner)
        if isinstance(node, ast.Name) and (simple or isinstance(node.ctx, ast.Store))
    }
    changed = (
        text
        for change in candidate.edit.changes
        for text in (source.text[change.start : change.end], change.text)
    )
    return bool(names) and not (used or names) & {
        *told,
        *(word for text in (line, *changed) for word in re.findall(r"\w+", text)),
    }


def asked_twice(function: Function, candidate: Candidate, source: Source, line: str) -> bool:
    """Does it ask for what is asked in the same block, or around it, already, or for the opposite of what another branch asks?

    In a loop of its own, or where what it asks about has been given a value since, it may have to be asked again.
    """
    question = re.match(r"\s*(?:el)?if (.+):$", line)
    if question is None:
        return False
    changed = [change.start for change in candidate.edit.changes]
    ifs = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.If) and source.span(node.test)[0] not in changed[1:]
    ]
    own = next((node for node in ifs if node.lineno == candidate.edit.line), None)
    if own is None:
        return any(source.code(node.test) == question[1] for node in ifs)
    again = any(
        source.code(node.test) == question[1]
        for node in ifs
        if node is not own
        and _beside(node, own, source)
        and not _given(min(own, node, key=lambda item: item.lineno), question[1])
    )
    return again or any(_opposite(source.code(node.test), question[1]) for node in _branches(own)[1:])


def _given(first: ast.If, question: str) -> bool:
    """Is something that is asked about given a value under the first of two conditions?"""
    return any(name in re.findall(r"\w+", question) for statement in first.body for name in stored(statement))


def _opposite(one: str, other: str) -> bool:
    return one == f"not {other}" or other == f"not {one}"


def _beside(one: ast.If, own: ast.If, source: Source) -> bool:
    """In the same block, a branch of what is there, or around it?"""
    chain = [own, *(node for node in source.around(own) if isinstance(node, ast.If))]
    return one in chain or any(
        one in _branches(node) for first in chain for node in source.block(first) if isinstance(node, ast.If)
    )


def _branches(first: ast.If) -> list[ast.If]:
    """An `if` with all its `elif`."""
    found = [first]
    while len(found[-1].orelse) == 1 and isinstance(found[-1].orelse[0], ast.If):
        found.append(found[-1].orelse[0])
    return found
