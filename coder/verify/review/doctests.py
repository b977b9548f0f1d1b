"""Doctest examples of source files, and whether a change leaves them alone."""

import ast
import doctest
from collections.abc import Mapping

from coder.verify.review.tampering import Function, parse_or_empty

Examples = tuple[tuple[str, str], ...]
"""Pairs of source and expected output, from top to bottom."""


def doctest_examples(text: str) -> Examples:
    """Return the examples in all docstrings of a source file; empty if one of them cannot be parsed."""
    parser = doctest.DocTestParser()
    documented_nodes = (
        node
        for node in ast.walk(parse_or_empty(text))
        if isinstance(node, ast.Module | ast.ClassDef | Function)
    )
    docstrings = [
        docstring for node in documented_nodes if (docstring := ast.get_docstring(node, clean=False))
    ]
    try:
        return tuple(
            (example.source, example.want)
            for docstring in docstrings
            for example in parser.get_examples(docstring)
        )
    except ValueError:
        return ()


def paths_with_same_examples(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Return the paths of sources (texts by path) that have examples, the same ones on both sides."""
    return frozenset(
        path
        for path, text in old.items()
        if (before := doctest_examples(text)) and path in new and doctest_examples(new[path]) == before
    )


def examples_as_test(text: str) -> str:
    """Return the examples of a source file as test code.

    Each source is followed by its expected value if that is an expression.
    """
    return "\n".join(f"{source}{_as_assignment(expected)}" for source, expected in doctest_examples(text))


def _as_assignment(expected: str) -> str:
    try:
        ast.parse(expected.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return ""
    return f"_ = {expected.strip()}\n"
