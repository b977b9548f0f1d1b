"""Literals in code: those that branches compare with, and how distinctive they are."""

import ast
import re
from collections.abc import Collection, Iterator
from typing import Any

from coder.files.tokenize import count_terms

TABLE_SHARE = 0.4
"""Share of a table's literals that come from the tests, from which on it counts as made for them."""
LARGEST_COMMON_NUMBER = 16
"""Numbers up to this occur in every program and test."""
SHORTEST = 3
COMMON_LITERALS = {(type(value), value) for value in (None, True, False, 0, 1, 0.0, 1.0, "", b"", ...)}
"""Literals on which any code may branch."""
_WORDS = re.compile(r"[A-Za-z]+(?:[-_][A-Za-z]+)*")
CONSTANT = (ast.Constant, ast.Tuple, ast.List, ast.Load, ast.UnaryOp, ast.USub)


def pattern_values(pattern: ast.pattern) -> ast.expr:
    """Return the literals and keys that a pattern matches, as a tuple."""
    values = [node.value for node in ast.walk(pattern) if isinstance(node, ast.MatchValue)]
    values += [key for node in ast.walk(pattern) if isinstance(node, ast.MatchMapping) for key in node.keys]
    return ast.Tuple(elts=values, ctx=ast.Load())


def tested_expressions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            exact = all(
                isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn | ast.Is | ast.IsNot)
                for operator in ops
            )
            return [left, *others] if exact else []
        case ast.MatchValue(value=value):
            return [value]
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case ast.Call(
            func=ast.Attribute(attr="startswith" | "endswith" | "fullmatch" | "match" | "search"),
            args=[*values],
        ):
            return [value for value in values if isinstance(value, ast.Constant)]
        case _:
            return []


def is_named(value: object, issue: str) -> bool:
    """Tell whether the issue names this literal as a separate word or number; a word in any of its forms."""
    text = str(value)
    if re.search(rf"(?<!\w)(?<!\d\.){re.escape(text)}(?!\w|\.\d)", issue):
        return True
    if len(text) < SHORTEST or not _WORDS.fullmatch(text):
        return False
    terms = count_terms(text).keys()
    return len(terms) > 0 and terms <= count_terms(issue).keys()


def is_mostly(node: ast.AST, literals: Collection[object]) -> bool:
    """Tell whether many of a table's literals are those of the tests; always true for other nodes."""
    if isinstance(node, ast.If | ast.IfExp | ast.match_case | ast.Compare | ast.MatchValue):
        return True
    distinctive = {value for value in iterate_literals(node) if value not in COMMON_LITERALS}
    return sum(value in literals for value in distinctive) >= TABLE_SHARE * len(distinctive)


def literals_of_branch(node: ast.AST) -> tuple[list[ast.expr], list[ast.expr]]:
    """Return the expressions that a branch or a table tests, and the literals that it answers with."""
    match node:
        case (
            ast.If(test=test, body=[ast.Return(value=ast.expr() as value) | ast.Assign(value=value)])
            | ast.IfExp(test=test, body=value)
        ):
            tested = [part for inner in ast.walk(test) for part in tested_expressions(inner)]
        case ast.match_case(pattern=pattern, body=[ast.Return(value=ast.expr() as value)]):
            tested = [inner.value for inner in ast.walk(pattern) if isinstance(inner, ast.MatchValue)]
        case ast.Dict(keys=keys, values=values):
            pairs = [
                (key, value)
                for key, value in zip(keys, values, strict=True)
                if key is not None and isinstance(value, ast.Constant)
            ]
            has_distinctive_key = any(
                is_distinctive(value) for key, _ in pairs for _, value in iterate_literals(key)
            )
            return (
                ([key for key, _ in pairs], [value for _, value in pairs])
                if has_distinctive_key
                else ([], [])
            )
        case _:
            return [], []
    return tested, [value] if all(isinstance(part, CONSTANT) for part in ast.walk(value)) else []


def literals_of_all(nodes: list[ast.expr]) -> list[tuple[type, Any]]:
    return [literal for node in nodes for literal in iterate_literals(node)]


def contains_known(value: ast.expr, known: Collection[object]) -> bool:
    """Tell whether a value contains a distinctive literal of the tests."""
    return any(constant in known for constant in _distinctive_literals(value))


def _distinctive_literals(tree: ast.AST) -> Iterator[tuple[type, Any]]:
    return (literal for literal in iterate_literals(tree) if is_distinctive(literal[1]))


def iterate_literals(tree: ast.AST) -> Iterator[tuple[type, Any]]:
    string_statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in string_statements:
            yield (type(node.value), node.value)


def is_distinctive(value: object) -> bool:
    match value:
        case bool() | None:
            return False
        case str() | bytes():
            return len(value) >= SHORTEST
        case int():
            return abs(value) > LARGEST_COMMON_NUMBER
        case float() | complex():
            return abs(value) > 1 or value not in (0.0, 0.5, 1.0)
        case _:
            return False
