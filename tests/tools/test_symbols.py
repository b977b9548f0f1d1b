"""Results of `search` for a name."""

from pathlib import Path

from coder.tools.search import search
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
    assert call_tool(search, space, pattern="size") == (
        "size: 2 definitions\n"
        "  src/shop/bag.py:5-6  method  def size(self)  in Bag\n"
        "  src/shop/box.py:7-9  method  def size(self, deep=False)  in Box\n"
        "      Count.\n"
        "1 use in 1 file\n"
        "tests/test_box.py\n"
        "  in test_size (lines 1-3)\n"
        "     3|     assert Box().size() == 'size'\n"
        "1 line of text, strings or comments with it, such as tests/test_box.py:2: literal=true shows them."
    )


def test_dotted_name_selects_owner(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    for name in ("Box.size", "shop.box.Box.size", "shop.Box.size", "Box::size", "Box.size()"):
        answer = call_tool(search, space, pattern=name)
        assert answer.splitlines()[1].startswith("  src/shop/box.py:7-9")
        assert "2 uses in 2 files\nsrc/shop/bag.py\n" in answer


def test_finds_variables_and_definitions_of_other_languages(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert "src/shop/box.py:1-1  variable  LIMIT = 3" in call_tool(search, space, pattern="LIMIT")
    assert "web/box.ts:1-2  class  export class Box" in call_tool(search, space, pattern="Box")


def test_reports_number_of_omitted_results(tmp_path: Path) -> None:
    uses = "".join(f"run({number})\n" for number in range(100))
    many = {"uses.py": uses, **{f"m{number}.py": "def run(x): ...\n" for number in range(40)}}
    answer = call_tool(search, workspace(tmp_path, many), pattern="run")
    assert "  and 10 more; a dotted name or path= finds fewer" in answer
    assert "100 uses in 1 file, the first 60 shown; path= finds fewer" in answer
    assert answer.endswith("    60| run(59)")


def test_searches_text_where_nothing_of_that_name_is_defined(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "import numpy\nnumpy.array\n"})
    assert call_tool(search, space, pattern="numpy").startswith("2 matches in a.py\n")


def test_reveals_nothing_of_private_file(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "token()\n", ".env.py": "token()\n"})
    space.deny_read = (".env*",)
    assert ".env" not in call_tool(search, space, pattern="token")


def test_answers_who_depends_on_name_and_which_tests_run_it(tmp_path: Path) -> None:
    space = workspace(
        tmp_path,
        {
            "box.py": "def size():\n    return 1\n\n\ndef pack():\n    return size()\n",
            "tests/test_box.py": "from box import pack\n\n\ndef test_pack():\n    assert pack() == 1\n",
        },
    )
    assert call_tool(search, space, pattern="who depends on size") == (
        "1 place outside of tests uses size, as far as names tell:\n  box.py:5  pack"
    )
    assert "tests/test_box.py::test_pack  names pack, line 5" in call_tool(
        search, space, pattern="tests that run size"
    )
    assert call_tool(search, space, pattern="who depends on pack").startswith(
        "Nothing outside of tests uses pack"
    )
    assert "Nothing named" in call_refused_tool(search, space, pattern="tests that run absent")
