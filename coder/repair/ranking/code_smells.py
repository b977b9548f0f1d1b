"""Code smells that an edit may introduce: no-ops, lost values, repeated conditions, avoided names."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from coder.python.source import BLOCK_FIELDS, Function, PythonSource, dump_node
from coder.repair.candidates import RepairCandidate
from coder.repair.context.scope import assigned_names, parameter_names

MUTATING_METHODS = frozenset(
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


def line_after_edit(candidate: RepairCandidate, source: PythonSource) -> str:
    """Return the edited line on which the first change begins."""
    text, start = candidate.edit.apply(source.text), candidate.edit.changes[0].start
    return text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]


def has_constant_condition(line: str) -> bool:
    """Tell whether a line has a constant condition, so that its body always or never runs."""
    return re.search(r"\bif (?:not )?(?:True|False)\s*:", line) is not None


def count_no_ops(function: Function) -> int:
    """Count operations without effect, such as `x * 1`, `x[0:]`, `False or x`, `not (a != b)`.

    Conditions with equal branches count as well.
    """
    return sum(_has_no_effect(node) or _has_equal_branches(node) for node in ast.walk(function))


def _has_no_effect(node: ast.AST) -> bool:
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
        case ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(values=values)) if any(map(_is_negation, values)):
            return True
        case ast.BoolOp(values=values):
            return any(isinstance(value, ast.Constant) for value in values[:-1])
        case _:
            return False


def _has_equal_branches(node: ast.AST) -> bool:
    match node:
        case ast.If(body=body, orelse=[_, *_] as orelse):
            return [*map(dump_node, body)] == [*map(dump_node, orelse)]
        case ast.IfExp(body=body, orelse=orelse):
            return dump_node(body) == dump_node(orelse)
        case _:
            return False


def _is_negation(node: ast.expr) -> bool:
    """Tell whether an expression is a negation, so that another `not` around it is redundant."""
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()]):
            return True
        case _:
            return False


def count_mutated_parameters(function: Function) -> int:
    """Count calls that mutate a parameter: callers seldom expect that."""
    parameters = {*parameter_names(function)} - {*assigned_names(function)}
    methods = (
        node.func
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return sum(
        func.attr in MUTATING_METHODS and isinstance(func.value, ast.Name) and func.value.id in parameters
        for func in methods
    )


def count_lost_values(function: Function) -> int:
    """Count values that are overwritten in the same block before they are read."""
    return sum(
        _count_overwritten(block)
        for node in ast.walk(function)
        for name in BLOCK_FIELDS
        for block in [getattr(node, name, None)]
        if isinstance(block, list)
    )


def _count_overwritten(block: Sequence[ast.stmt]) -> int:
    count = 0
    pending: set[str] = set()
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target], value=value):
                value_text, target_text = ast.unparse(value), ast.unparse(target)
                pending = {assigned for assigned in pending if assigned not in value_text}
                count += target_text in pending
                pending.add(target_text)
            case _:
                pending.clear()
    return count


def has_donor_operation(before: Function, after: Function, source: PythonSource) -> bool:
    """Tell whether the change adds an operation that occurs elsewhere in the file.

    Most of the code that fixes need exists already: E. T. Barr et al., "The Plastic Surgery Hypothesis" (FSE
    2014).
    """
    old_counts = Counter(dump_operations(before))
    added = (
        operation
        for operation, count in Counter(dump_operations(after)).items()
        if count > old_counts[operation]
    )
    return any(operation_added in operations_in_file(source) for operation_added in added)


def dump_operations(node: ast.AST) -> Iterator[str]:
    """Yield the calculations, comparisons and subscripts under a node."""
    return (
        dump_node(descendant)
        for descendant in ast.walk(node)
        if isinstance(descendant, ast.BinOp | ast.BoolOp | ast.Compare | ast.Subscript)
    )


@lru_cache(maxsize=256)
def operations_in_file(source: PythonSource) -> frozenset[str]:
    """Return the calculations, comparisons and subscripts of a file."""
    return frozenset(dump_operations(source.tree))


def count_repetitions(function: Function) -> int:
    """Count statements that repeat the previous one, and calls that pass a variable twice."""
    nodes = [*ast.walk(function)]
    blocks = [
        block
        for node in nodes
        for name in BLOCK_FIELDS
        if isinstance(block := getattr(node, name, None), list)
    ]
    pairs = [pair for block in blocks for pair in pairwise(map(dump_node, block))]
    return sum(previous == following for previous, following in pairs) + sum(
        _passes_variable_twice(node) for node in nodes if isinstance(node, ast.Call)
    )


def _passes_variable_twice(call: ast.Call) -> bool:
    names = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
    repeats_keyword = any(
        isinstance(keyword.value, ast.Name) and keyword.arg == keyword.value.id in names
        for keyword in call.keywords
    )
    return repeats_keyword or len({*names}) < len(names)


def avoids_undefined_name(
    function: Function, names: frozenset[str], candidate: RepairCandidate, source: PythonSource, line: str
) -> bool:
    """Tell whether an edit keeps an undefined name from being read without defining it.

    It does if it leaves the name as it is and changes nothing that decides whether the name is assigned. In a
    function that does not read the name, an edit can only keep the reader from running.
    """
    read_here = names & {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    edited_line = candidate.edit.line
    around = (
        node
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node.lineno <= edited_line <= (node.end_lineno or 0)
    )
    innermost = max(around, key=lambda node: node.lineno, default=function)
    is_simple = not any(getattr(innermost, name, None) for name in BLOCK_FIELDS)
    protected = {
        node.id
        for node in ast.walk(innermost)
        if isinstance(node, ast.Name) and (is_simple or isinstance(node.ctx, ast.Store))
    }
    changed_texts = (
        text
        for change in candidate.edit.changes
        for text in (source.text[change.start : change.end], change.text)
    )
    return bool(names) and not (read_here or names) & {
        *protected,
        *(word for text in (line, *changed_texts) for word in re.findall(r"\w+", text)),
    }


def repeats_condition(
    function: Function, candidate: RepairCandidate, source: PythonSource, line: str
) -> bool:
    """Tell whether a new condition repeats one nearby, or negates another branch's condition.

    In a loop of its own, or if one of its variables has been assigned since, testing again may be necessary.
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
        return any(source.text_of(node.test) == question[1] for node in ifs)
    is_repeated = any(
        source.text_of(node.test) == question[1]
        for node in ifs
        if node is not own
        and _is_adjacent(node, own, source)
        and not _assigns_variable_of(min(own, node, key=lambda branch: branch.lineno), question[1])
    )
    return is_repeated or any(
        _are_opposite(source.text_of(node.test), question[1]) for node in _branches_of(own)[1:]
    )


def _assigns_variable_of(first: ast.If, question: str) -> bool:
    """Tell whether a variable of a condition is assigned under the first of two conditions."""
    return any(
        name in re.findall(r"\w+", question) for statement in first.body for name in assigned_names(statement)
    )


def _are_opposite(condition: str, other: str) -> bool:
    return condition == f"not {other}" or other == f"not {condition}"


def _is_adjacent(branch: ast.If, own: ast.If, source: PythonSource) -> bool:
    """Tell whether an `if` is in the same block, a branch of it, or around it."""
    chain = [own, *(node for node in source.ancestors(own) if isinstance(node, ast.If))]
    return branch in chain or any(
        branch in _branches_of(node)
        for first in chain
        for node in source.enclosing_block(first)
        if isinstance(node, ast.If)
    )


def _branches_of(first: ast.If) -> list[ast.If]:
    """Return an `if` with all its `elif` branches."""
    chain = [first]
    while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
        chain.append(chain[-1].orelse[0])
    return chain
