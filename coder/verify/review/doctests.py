"""Doctests of source files: the examples that stand in documentation, as far as a change to the same file leaves them alone."""

import ast
import doctest
from collections.abc import Mapping

from coder.verify.review.tampering import Function, parsed

Examples = tuple[tuple[str, str], ...]
"""What is entered and what is wanted, from top to bottom."""


def examples(text: str) -> Examples:
    """The examples in all documentation of a source file; none where one of them cannot be read."""
    found = doctest.DocTestParser()
    documented = (
        node for node in ast.walk(parsed(text)) if isinstance(node, ast.Module | ast.ClassDef | Function)
    )
    documents = [document for node in documented if (document := ast.get_docstring(node, clean=False))]
    try:
        return tuple(
            (example.source, example.want)
            for document in documents
            for example in found.get_examples(document)
        )
    except ValueError:
        return ()


def same_examples(old: Mapping[str, str], new: Mapping[str, str]) -> frozenset[str]:
    """Paths of sources (texts by path) that have examples, and the same ones on both sides."""
    return frozenset(
        path
        for path, text in old.items()
        if (had := examples(text)) and path in new and examples(new[path]) == had
    )


def as_test(text: str) -> str:
    """The examples of a source file as a test would say them: what is entered, and what is wanted where that is an expression."""
    return "\n".join(f"{entered}{_expected(wanted)}" for entered, wanted in examples(text))


def _expected(wanted: str) -> str:
    try:
        ast.parse(wanted.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return ""
    return f"_ = {wanted.strip()}\n"
