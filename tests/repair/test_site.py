"""Replacement of expressions where precedence matters."""

import ast

import pytest

from coder.core.ports import Edit
from coder.python.source import PythonSource
from coder.repair.generators.site import RewriteSite


def replace(text: str, name: str, new: str) -> str:
    """Return the text with the only variable `name` replaced by an expression."""
    source = PythonSource("a.py", text)
    node = next(
        candidate
        for candidate in ast.walk(source.tree)
        if isinstance(candidate, ast.Name) and candidate.id == name
    )
    (rewrite,) = RewriteSite(source, node).replace(node, new, weight=1.0, summary="")
    return Edit(path="a.py", changes=rewrite.changes, line=1, family="", summary="").apply(text)


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("y = x * 2", "a + b", "y = (a + b) * 2"),
        ("y = x + 2", "a - b", "y = a - b + 2"),
        ("y = 2 - x", "a + b", "y = 2 - (a + b)"),
        ("y = x.z", "a or b", "y = (a or b).z"),
        ("y = x[0]", "-a", "y = (-a)[0]"),
        ("y = z[x]", "a + 1", "y = z[a + 1]"),
        ("y = x < 2", "a or b", "y = (a or b) < 2"),
        ("y = x < 2", "a + b", "y = a + b < 2"),
        ("y = x and z", "a or b", "y = (a or b) and z"),
        ("y = x and z", "a < b", "y = a < b and z"),
        ("f(x)", "a if b else c", "f(a if b else c)"),
    ],
)
def test_adds_parentheses_only_where_needed(text: str, new: str, expected: str) -> None:
    assert replace(text, "x", new) == expected


def test_same_text_yields_no_rewrite() -> None:
    source = PythonSource("a.py", "y = x\n")
    node = next(
        candidate
        for candidate in ast.walk(source.tree)
        if isinstance(candidate, ast.Name) and candidate.id == "x"
    )
    assert list(RewriteSite(source, node).replace(node, "x", weight=1.0, summary="")) == []


def test_inserts_no_line_before_inline_statement() -> None:
    source = PythonSource("a.py", "if a: b()\n")
    statement = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Expr))
    assert (
        list(RewriteSite(source, statement).insert_before(statement, ["pass"], weight=1.0, summary="")) == []
    )
