import ast

import pytest

from coder.python.source import dump_node, parse_module


def test_parses_after_syntax_error() -> None:
    with pytest.raises(SyntaxError) as caught:
        parse_module("def (", "a.py")
    assert caught.value.filename == "a.py"
    assert parse_module("").body == []


def test_type_parameters_keep_all_positions() -> None:
    text = (
        "class Box[T](Base):\n    def get[K: (int, str)](self, key: K = 1): ...\n\n\n"
        "type Pair[T] = tuple[T, T]\n"
    )
    tree = parse_module(text)
    base, one = (
        next(node for node in ast.walk(tree) if ast.unparse(node) == source) for source in ("Base", "1")
    )
    assert [ast.get_source_segment(text, node) for node in (base, one)] == ["Base", "1"]
    value = getattr(tree.body[-1], "value", None)
    assert isinstance(value, ast.expr)
    assert ast.get_source_segment(text, value) == "tuple[T, T]"


@pytest.mark.parametrize(
    "text",
    [
        "x = " + " + ".join(["1"] * 2_000),
        "if a == 0:\n    pass\n" + "".join(f"elif a == {number}:\n    pass\n" for number in range(900)),
    ],
    ids=["sum", "chain"],
)
def test_dumps_what_nests_deeply(text: str) -> None:
    assert dump_node(parse_module(text)).count("Constant(") >= 900
