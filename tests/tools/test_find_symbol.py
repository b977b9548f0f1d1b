"""What `find_symbol` knows of a name."""

from pathlib import Path

from coder.tools.find_symbol import find_symbol
from tests.tools.fakes import called, refused, workspace

BOX = '''LIMIT = 3


class Box:
    """Holds items."""

    def size(self, deep=False):
        """Count."""
        return LIMIT
'''
FILES = {
    "src/shop/box.py": BOX,
    "src/shop/bag.py": "from shop.box import Box\n\n\nclass Bag(Box):\n    def size(self):\n        return 1\n",
    "tests/test_box.py": "def test_size():\n    assert Box().size() == 0\n",
    "web/box.ts": "export class Box {\n}\n",
}


def test_shows_definitions_with_owner_and_docstring_and_then_uses(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert called(find_symbol, space, name="size") == (
        "size: 2 definitions\n"
        "  src/shop/bag.py:5-6  def size(self)  in Bag\n"
        "  src/shop/box.py:7-9  def size(self, deep=False)  in Box\n"
        "      Count.\n"
        "1 use in 1 file\n"
        "tests/test_box.py\n"
        "     2|     assert Box().size() == 0"
    )
    assert space.named == {"src/shop/bag.py": {5}, "src/shop/box.py": {7}, "tests/test_box.py": {2}}


def test_a_dotted_name_picks_the_owner_or_the_module(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    for name in ("Box.size", "shop.box.Box.size", "Box::size", "Box.size()"):
        assert "src/shop/box.py:7-9" in called(find_symbol, space, name=name)
        assert "src/shop/bag.py:5-6" not in called(find_symbol, space, name=name)


def test_finds_variables_and_definitions_of_other_languages(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert "src/shop/box.py:1-1  LIMIT = 3" in called(find_symbol, space, name="LIMIT")
    assert "web/box.ts:1-3  export class Box" in called(find_symbol, space, name="Box")


def test_says_when_a_name_is_only_used(tmp_path: Path) -> None:
    answer = called(find_symbol, workspace(tmp_path, {"a.py": "import numpy\nnumpy.array\n"}), name="numpy")
    assert answer.startswith("numpy: no definition found in this repository")


def test_names_what_looks_alike_when_there_is_none(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "def parse_header(): ...\n"})
    assert called(find_symbol, space, name="parse_haeder") == "'parse_haeder' occurs nowhere. Near: parse_header."


def test_refuses_what_is_no_name(tmp_path: Path) -> None:
    assert refused(find_symbol, workspace(tmp_path), name="--pre=x").startswith("'--pre=x' is not a name.")
    assert refused(find_symbol, workspace(tmp_path), name="").startswith("'' is not a name.")
