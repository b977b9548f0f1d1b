import ast

import pytest

from coder.python.parsing import parse_module


def test_parses_module() -> None:
    assert ast.dump(parse_module("x = 1\n")) == ast.dump(ast.parse("x = 1\n"))


def test_parses_after_syntax_error() -> None:
    with pytest.raises(SyntaxError) as caught:
        parse_module("def (", "a.py")
    assert caught.value.filename == "a.py"
    assert parse_module("").body == []
