"""Positions of nodes in a text."""

import ast
import codecs

import pytest

from coder.python.source import PythonSource, decode_text

TEXT = (
    'x = "é", 1\r\n\r\nclass Shop:\r\n    @cached\r\n    def total(self):\r\n        return [lambda: 1]\r\n'
)


def test_positions_count_characters() -> None:
    source = PythonSource("a.py", TEXT)
    constant = next(
        node for node in ast.walk(source.tree) if isinstance(node, ast.Constant) and node.value == 1
    )
    assert source.span(constant) == (9, 10)
    assert source.text_of(source.functions[0]) == "def total(self):\r\n        return [lambda: 1]"
    assert source.line_end == "\r\n"


def test_names_place_by_enclosing_definitions() -> None:
    source = PythonSource("a.py", TEXT)
    statement = source.functions[0].body[0]
    assert source.qualified_place(statement) == "a.py::Shop.total"
    assert source.qualified_place(source.tree.body[0]) == "a.py:1"
    assert source.function_at(6) is source.functions[0]
    assert source.function_at(4) is None
    assert source.indent(statement) == "        "


def test_rejects_text_that_is_not_python() -> None:
    with pytest.raises(SyntaxError):
        PythonSource("a.py", "def f(:\n")


@pytest.mark.parametrize(
    ("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
)
def test_reads_utf16_by_its_mark(mark: bytes, encoding: str) -> None:
    assert decode_text(mark + "é = 1".encode(encoding)) == "é = 1"
