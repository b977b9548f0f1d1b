"""Results of `find_symbol`."""

from pathlib import Path

from coder.tools.find_symbol import find_symbol
from tests.tools.fakes import call_refused_tool, call_tool, workspace

BOX = '''LIMIT = 3


class Box:
    """Holds items."""

    def size(self, deep=False):
        """Count."""
        return LIMIT
'''
FILES = {
    "src/shop/__init__.py": "from .box import Box\n",
    "src/shop/box.py": BOX,
    "src/shop/bag.py": (
        "from shop.box import Box\n\n\nclass Bag(Box):\n    def size(self):\n        return 1\n"
    ),
    "tests/test_box.py": "def test_size():\n    # size matters\n    assert Box().size() == 'size'\n",
    "web/box.ts": "export class Box {\n}\n",
}


def test_shows_definitions_then_uses(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(find_symbol, space, name="size") == (
        "size: 2 definitions\n"
        "  src/shop/bag.py:5-6  method  def size(self)  in Bag, overrides Box.size\n"
        "  src/shop/box.py:7-9  method  def size(self, deep=False)  in Box\n"
        "      Count.\n"
        "1 use in 1 file\n"
        "tests/test_box.py\n"
        "  in test_size (lines 1-3)\n"
        "     3|     assert Box().size() == 'size'"
    )
    assert space.named == {"src/shop/bag.py": {5}, "src/shop/box.py": {7}, "tests/test_box.py": {3}}


def test_dotted_name_selects_owner_and_shows_overrides(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    for name in ("Box.size", "shop.box.Box.size", "shop.Box.size", "Box::size", "Box.size()"):
        answer = call_tool(find_symbol, space, name=name)
        assert answer.splitlines()[1].startswith("  src/shop/box.py:7-9")
        assert (
            "overridden 1 time:\n  src/shop/bag.py:5-6  method  def size(self)  in Bag\n1 use in 1 file"
            in answer
        )


def test_an_inherited_method_is_found_by_its_subclass(tmp_path: Path) -> None:
    files = {**FILES, "src/shop/bag.py": "from shop import Box\n\n\nclass Bag(Box):\n    pass\n"}
    assert "src/shop/box.py:7-9" in call_tool(
        find_symbol, workspace(tmp_path, files), name="shop.bag.Bag.size"
    )


def test_names_re_exporting_modules(tmp_path: Path) -> None:
    answer = call_tool(find_symbol, workspace(tmp_path, FILES), name="Box", path="src")
    assert "re-exported by src/shop/__init__.py:1  from .box import Box" in answer


def test_finds_variables_and_definitions_of_other_languages(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert "src/shop/box.py:1-1  variable  LIMIT = 3" in call_tool(find_symbol, space, name="LIMIT")
    assert "web/box.ts:1-2  class  export class Box" in call_tool(find_symbol, space, name="Box")


def test_restricts_to_path(tmp_path: Path) -> None:
    answer = call_tool(find_symbol, workspace(tmp_path, FILES), name="size", path="src/shop/bag.py")
    assert answer == (
        "size: 1 definition\n  src/shop/bag.py:5-6  method  def size(self)  in Bag\n"
        "size is used nowhere else."
    )


def test_reports_number_of_omitted_results(tmp_path: Path) -> None:
    uses = "".join(f"run({number})\n" for number in range(100))
    many = {"uses.py": uses, **{f"m{number}.py": "def run(x): ...\n" for number in range(40)}}
    answer = call_tool(find_symbol, workspace(tmp_path, many), name="run")
    assert "  and 10 more; narrow it with a dotted name or path=" in answer
    assert "100 uses in 1 file, the first 60 shown; narrow it with path=" in answer
    assert answer.endswith("    60| run(59)")


def test_sees_changes_since_last_query(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    call_tool(find_symbol, space, name="size")
    (tmp_path / "src/shop/bag.py").write_text("def measure(): ...\n", encoding="utf-8")
    assert "src/shop/bag.py:1-1" in call_tool(find_symbol, space, name="measure")


def test_says_when_a_name_is_only_used(tmp_path: Path) -> None:
    answer = call_tool(
        find_symbol, workspace(tmp_path, {"a.py": "import numpy\nnumpy.array\n"}), name="numpy"
    )
    assert answer.startswith("numpy: no definition found in this repository")
    assert "2 uses in 1 file" in answer


def test_says_when_a_name_is_only_text(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "x = 'parse_all'\n", "b.md": "parse_all\n"})
    answer = call_tool(find_symbol, space, name="parse_all")
    assert (
        answer
        == "'parse_all' is no name in code; 2 lines of text, strings or comments hold it: a.py:1, b.md:1."
    )
    assert space.named == {"a.py": {1}, "b.md": {1}}


def test_suggests_similar_names(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "def parse_header(): ...\n"})
    assert (
        call_tool(find_symbol, space, name="parse_haeder")
        == "'parse_haeder' occurs nowhere. Near: parse_header."
    )
    assert (
        call_tool(find_symbol, space, name="parseHeader")
        == "'parseHeader' occurs nowhere. Near: parse_header."
    )


def test_reveals_nothing_of_private_file(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "token()\n", ".env.py": "token()\n"})
    space.deny_read = (".env*",)
    assert ".env" not in call_tool(find_symbol, space, name="token")


def test_refuses_invalid_name(tmp_path: Path) -> None:
    assert call_refused_tool(find_symbol, workspace(tmp_path), name="--pre=x").startswith(
        "'--pre=x' is not a name."
    )
    assert call_refused_tool(find_symbol, workspace(tmp_path), name="").startswith("'' is not a name.")
