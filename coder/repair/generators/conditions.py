"""Conditions that could be tested at a place, built from names and constants nearby."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from coder.core.ports import TextChange
from coder.core.verdict import Failure
from coder.python.source import Function, PythonSource, find_nodes
from coder.repair.generators.donor_code import donor_conditions, names_in_scope, proximity_of
from coder.repair.generators.site import assigned_names, local_names, names_never_read, parameter_names

MOST_NAMES, MOST_CONSTANTS, MAX_CONDITIONS = 6, 4, 24
MAX_LENGTH_NAMES, MAX_LENGTH = 4, 40
RANK_DECAY = 0.93
"""Weight factor for each further name."""


def possible_conditions(source: PythonSource, node: ast.AST) -> tuple[tuple[str, float], ...]:
    """Return conditions for a place with weights from 0 to 1, best first."""
    function = source.enclosing_function(node)
    weights: dict[str, float] = {}
    for text, weight in (
        *_conditions_elsewhere(source, function),
        *_simple_conditions(source, node),
        *_attribute_tests(source, node),
        *_sign_tests(source, node),
        *_membership_tests(source, node),
        *_unread_attribute_tests(source, function),
        *_unread_name_tests(source, node),
        *_comparisons_with_attributes(source, node),
    ):
        weights[text] = max(weights.get(text, 0.0), weight)
    return tuple(sorted(weights.items(), key=lambda pair: (-pair[1], pair[0])))


def _conditions_elsewhere(source: PythonSource, function: Function | None) -> Iterator[tuple[str, float]]:
    """Yield conditions used elsewhere in the file whose names are visible here; the nearer, the heavier."""
    visible_names, owner = names_in_scope(source, function), source.owner_class(function)
    pieces = [
        piece for piece in donor_conditions(source) if piece.names <= visible_names and "\n" not in piece.text
    ]
    pieces.sort(key=lambda piece: -proximity_of(piece, function, owner))
    for piece in pieces[:MAX_CONDITIONS]:
        near = proximity_of(piece, function, owner)
        yield piece.text, 0.7 * near
        if near == 1.0 and not isinstance(piece.node, ast.BoolOp):
            yield (
                f"not {piece.text}"
                if isinstance(piece.node, ast.Name | ast.Call | ast.Attribute)
                else f"not ({piece.text})",
                0.45,
            )


def _simple_conditions(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    function = source.enclosing_function(node)
    parameters = set(parameter_names(function)) if function else set()
    names = _names_by_use(source, node)[:MOST_NAMES]
    numbers = _compared_constants(function)[:MOST_CONSTANTS] if function else []
    loops = [
        descendant
        for statement in _branches_of(source, node)[0]
        for descendant in ast.walk(statement)
        if isinstance(descendant, ast.For | ast.comprehension)
    ]
    iterated = {loop.iter.id for loop in loops if isinstance(loop.iter, ast.Name)}
    for rank, name in enumerate(names):
        fading = RANK_DECAY**rank * (1.0 if name in parameters else 0.95)
        yield name, 0.6 * fading
        yield f"not {name}", 0.6 * fading
        yield f"{name} is None", 0.5 * fading
        yield f"{name} is not None", 0.5 * fading
        for kind in _isinstance_types(source):
            yield f"isinstance({name}, {kind})", 0.4 * fading
        for kind in ("list", "(list, tuple)") if name in iterated else ():
            yield f"isinstance({name}, {kind})", 0.5
        for number in numbers:
            for operator in ("==", "!=", "<", ">", ">="):
                yield f"{name} {operator} {number}", 0.3 * fading
        for other in names[rank + 1 :]:
            for operator in ("==", "!=", "<", ">", "<=", ">=", "in", "not in"):
                yield f"{name} {operator} {other}", 0.3 * fading


def _names_by_use(source: PythonSource, node: ast.AST) -> list[str]:
    """Return the variables of the function, those read in the branches of the condition first."""
    branches = _branches_of(source, node)
    read = {
        descendant.id
        for branch in branches
        for statement in branch
        for descendant in find_nodes(statement, ast.Name)
    }
    return sorted(local_names(source, node), key=lambda name: name not in read)


def _branches_of(source: PythonSource, node: ast.AST) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements executed if a condition holds, and those executed if it does not."""
    parent = source.parents.get(node)
    return (parent.body, parent.orelse) if isinstance(parent, ast.If) else ([], [])


def _membership_tests(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield membership tests of a value in the collection that a branch adds it to."""
    for branch, operator in zip(_branches_of(source, node), ("not in", "in"), strict=True):
        for descendant in (descendant for statement in branch for descendant in ast.walk(statement)):
            match descendant:
                case ast.Call(
                    func=ast.Attribute(value=container, attr="add" | "append"), args=[ast.Name(id=name)]
                ):
                    yield f"{name} {operator} {source.text_of(container)}", 0.8
                case ast.Assign(targets=[ast.Subscript(value=container, slice=ast.Name(id=name))]):
                    yield f"{name} {operator} {source.text_of(container)}", 0.7


def _attribute_tests(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield attributes that the function reads, those under the condition first."""
    function = source.enclosing_function(node)
    branch_statements = [statement for branch in _branches_of(source, node) for statement in branch]
    for weight, roots in ((0.8, branch_statements), (0.35, [function] if function else [])):
        loads = [
            descendant
            for root in roots
            for descendant in find_nodes(root, ast.Attribute)
            if isinstance(descendant.ctx, ast.Load)
        ]
        attributes = [
            descendant
            for descendant in loads
            if isinstance(descendant.value, ast.Name) and not _is_called(source, descendant)
        ]
        for text in [*dict.fromkeys(source.text_of(descendant) for descendant in attributes)][:MOST_NAMES]:
            yield text, weight
            yield f"not {text}", 0.35


def _sign_tests(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield `x < 0` for a number whose sign is removed under the condition."""
    for descendant in (
        descendant for statement in _branches_of(source, node)[0] for descendant in ast.walk(statement)
    ):
        match descendant:
            case (
                ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name))
                | ast.Call(func=ast.Name(id="abs"), args=[ast.Name(id=name)])
            ):
                yield f"{name} < 0", 0.8


def _comparisons_with_attributes(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield comparisons of variables with the attributes of self that the function reads."""
    function = source.enclosing_function(node)
    loads = (
        descendant
        for descendant in ast.walk(function or node)
        if isinstance(descendant, ast.Attribute) and isinstance(descendant.ctx, ast.Load)
    )
    own_attributes = (
        descendant
        for descendant in loads
        if isinstance(descendant.value, ast.Name)
        and descendant.value.id == "self"
        and not _is_called(source, descendant)
    )
    for rank, text in enumerate(
        [*dict.fromkeys(source.text_of(descendant) for descendant in own_attributes)][:MOST_NAMES]
    ):
        for name in local_names(source, node)[:MOST_NAMES]:
            for form in ("{} != {}", "{} == {}", "{} > {}", "{} < {}", "{} in {}", "not isinstance({}, {})"):
                yield form.format(name, text), 0.3 * RANK_DECAY**rank


def length_conditions(source: PythonSource, node: ast.If) -> Iterator[tuple[str, float]]:
    """Yield tests of a variable's exact length.

    The number may occur nowhere in the file. Few of the lengths pass the tests; lower ones come first.
    """
    exits = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break)
    for rank, name in enumerate(local_names(source, node)[:MAX_LENGTH_NAMES]):
        for number in range(1, MAX_LENGTH + 1):
            yield (
                f"len({name}) {'!=' if exits else '=='} {number}",
                0.25 * RANK_DECAY**rank * RANK_DECAY ** (number / 10),
            )


def _is_called(source: PythonSource, node: ast.AST) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _unread_attribute_tests(source: PythonSource, function: Function | None) -> Iterator[tuple[str, float]]:
    """Yield attributes that the class sets and the file never reads."""
    owner = source.owner_class(function)
    for name in _unread_attributes(source, owner) if owner else ():
        yield f"self.{name}", 0.9
        yield f"not self.{name}", 0.7


def _unread_name_tests(source: PythonSource, node: ast.AST) -> Iterator[tuple[str, float]]:
    """Yield names that the function never reads, alone and combined with other variables."""
    function, names = source.enclosing_function(node), _names_by_use(source, node)
    for name in names_never_read(function) if function else ():
        yield name, 0.8
        yield f"not {name}", 0.8
        for other in [local for local in names if local != name][:MOST_NAMES]:
            for form in (
                "{} and {}",
                "not {} and {}",
                "{} and not {}",
                "not {} and not {}",
                "{} & {}",
                "{} in {}",
                "{} == {}",
            ):
                yield form.format(other, name), 0.4


@lru_cache(maxsize=256)
def _unread_attributes(source: PythonSource, owner: ast.ClassDef) -> tuple[str, ...]:
    """Return attributes that a class sets and the file does not read."""
    read = {node.attr for node in find_nodes(source.tree, ast.Attribute) if isinstance(node.ctx, ast.Load)}
    stores = (node for node in find_nodes(owner, ast.Attribute) if isinstance(node.ctx, ast.Store))
    return tuple(
        dict.fromkeys(
            store.attr
            for store in stores
            if isinstance(store.value, ast.Name) and store.value.id == "self" and store.attr not in read
        )
    )


@lru_cache(maxsize=1024)
def _compared_constants(function: Function) -> list[str]:
    operands = [
        comparator
        for node in find_nodes(function, ast.Compare)
        for comparator in (node.left, *node.comparators)
    ]
    return list(
        dict.fromkeys(
            repr(operand.value)
            for operand in operands
            if isinstance(operand, ast.Constant) and operand.value is not None
        )
    )


@lru_cache(maxsize=256)
def _isinstance_types(source: PythonSource) -> tuple[str, ...]:
    """Return at most four types named by the file's isinstance calls."""
    names: dict[str, None] = {}
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=name)]):
                names[name] = None
    return tuple(names)[:4]


# Edits that may let a loop terminate, for tests that timed out.

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
        for name in find_nodes(expression, ast.Name)
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
