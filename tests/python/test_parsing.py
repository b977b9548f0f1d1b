import ast

import pytest

from coder.python.parsing import parsed


def test_parses_module() -> None:
    assert ast.dump(parsed("x = 1\n")) == ast.dump(ast.parse("x = 1\n"))


def test_parses_after_syntax_error() -> None:
    with pytest.raises(SyntaxError) as caught:
        parsed("def (", "a.py")
    assert caught.value.filename == "a.py"
    assert parsed("").body == []
