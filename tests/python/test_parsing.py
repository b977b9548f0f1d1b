import ast

import pytest

from coder.python.parsing import parsed


def test_what_parses_is_a_module() -> None:
    assert ast.dump(parsed("x = 1\n")) == ast.dump(ast.parse("x = 1\n"))


def test_what_does_not_parse_raises_as_ever_and_the_next_is_parsed() -> None:
    with pytest.raises(SyntaxError) as caught:
        parsed("def (", "a.py")
    assert caught.value.filename == "a.py"
    assert parsed("").body == []
