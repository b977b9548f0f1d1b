"""Python sources that choose by what only their tests have: the length of an input, or equality."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from coder.python.source import dump_node, parse_or_empty
from coder.verify.test_edits import dotted_name

EXAMPLE = re.compile(r"[A-Za-z_][\w.]*\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\n]*\]|\{[^\n]*\}")
"""A call with its arguments, or a collection, as an example in an issue shows it."""
LEAST_LENGTH = 3
"""Shorter collections occur in every program and test."""
BUILT_IN = ("float", "int", "str", "list", "tuple", "dict", "bytes", "set", "complex")


def overfitting_signs(
    old: Mapping[str, str], new: Mapping[str, str], tests: Collection[str], *, issue: str = ""
) -> list[str]:
    """Return signs of overfitting in changed Python sources (text by path), half a sentence each.

    `tests` are source texts. What is made for single inputs shows in the behavior of their neighbors; these
    signs do not.
    """
    prose = EXAMPLE.sub(" ", issue)
    lengths = {
        length
        for text in tests
        for length in _lengths(parse_or_empty(text))
        if length >= LEAST_LENGTH and str(length) not in prose
    }
    return [
        f"{path}:{line} {sign}"
        for path, text in new.items()
        for line, sign in _signs(parse_or_empty(old.get(path, "")), parse_or_empty(text), lengths)
    ]


def _lengths(tree: ast.Module) -> Iterator[int]:
    """Yield the lengths of the collection literals in a test."""
    yield from (len(node.elts) for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple | ast.Set))


def _signs(before: ast.Module, after: ast.Module, lengths: Collection[int]) -> Iterator[tuple[int, str]]:
    """Yield choices by the length of a test's literal, and values that are equal to others.

    A length after which so many parts are unpacked is none.
    """
    unpacked = {
        (dump_node(node.value), len(target.elts))
        for node in ast.walk(after)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Tuple)
    }
    for node in _added_nodes(before, after, ast.Compare, ast.ClassDef):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[measured]),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value=int() as length)],
            ) if length in lengths and (dump_node(measured), length) not in unpacked:
                yield node.lineno, "chooses by the length of the test's own input"
            case ast.ClassDef(bases=bases, body=body) if any(
                dotted_name(base) in BUILT_IN for base in bases
            ) and any(isinstance(part, ast.FunctionDef) and part.name == "__eq__" for part in body):
                yield node.lineno, "makes values that are equal to others than a built-in type's"


def _added_nodes(before: ast.Module, after: ast.Module, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of these types that do not occur in the old file."""
    counts = Counter(dump_node(node) for node in ast.walk(before) if isinstance(node, kinds))
    for node in ast.walk(after):
        if isinstance(node, kinds):
            counts[dump_node(node)] -= 1
            if counts[dump_node(node)] < 0:
                yield node
