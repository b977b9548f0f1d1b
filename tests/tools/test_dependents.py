"""Code that a change may break, according to `dependents`."""

from pathlib import Path

from coder.tools.dependents import dependents
from tests.tools.fakes import call_refused_tool, call_tool, workspace

FILES = {
    "src/shop/__init__.py": "from .box import Box\n",
    "src/shop/box.py": "class Box:\n    def size(self):\n        return helper()\n\n\ndef helper(): ...\n",
    "src/shop/bag.py": "from shop import Box\n\n\ndef pack():\n    return Box()\n",
    "src/other/box.py": "class Box: ...\n\n\nBox()\n",
    "src/other/till.py": "from other.box import Box\n\nBox()\n",
    "tests/test_box.py": (
        "from shop.box import Box\n\n\ndef test_size():\n    assert Box().size() == Box().size()\n    Box()\n"
    ),
}


def test_shows_users_by_definition_source_before_tests(tmp_path: Path) -> None:
    space = workspace(tmp_path, FILES)
    assert call_tool(dependents, space, name="shop.box.Box") == (
        "shop.box.Box is used by (1 other definition of that name: some uses may mean those)\n"
        "source: 2 files\n"
        "  src/shop/__init__.py\n"
        "    top level: line 1\n"
        "  src/shop/bag.py\n"
        "    top level: line 1\n"
        "    pack: line 5\n"
        "tests: 1 file\n"
        "  tests/test_box.py\n"
        "    top level: line 1\n"
        "    test_size: lines 5, 6"
    )
    assert space.named["src/shop/bag.py"] == {1, 5}


def test_shows_importers_through_package(tmp_path: Path) -> None:
    answer = call_tool(dependents, workspace(tmp_path, FILES), name="./src/shop/box.py")
    assert answer == (
        "src/shop/box.py is imported by\n"
        "source: 1 file\n  src/shop/__init__.py\n    top level: line 1\n"
        "tests: 1 file\n  tests/test_box.py\n    top level: line 1"
    )


def test_a_relative_import_and_another_language_count(tmp_path: Path) -> None:
    space = workspace(
        tmp_path,
        {"web/box.ts": "export class Box {}\n", "web/bag.ts": "import { Box } from './box';\nnew Box();\n"},
    )
    assert "web/bag.ts\n    top level: line 1" in call_tool(dependents, space, name="web/box.ts")
    assert "web/bag.ts\n    top level: lines 1, 2" in call_tool(dependents, space, name="Box")


def test_says_when_nothing_depends_on_symbol(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "def alone(): ...\n"})
    assert call_tool(dependents, space, name="alone") == "alone is used nowhere in this repository."
    assert call_tool(dependents, space, name="a.py") == "a.py is imported nowhere in this repository."


def test_refuses_unknown_symbol(tmp_path: Path) -> None:
    space = workspace(tmp_path, {"a.py": "def parse_header(): ...\n"})
    assert call_refused_tool(dependents, space, name="parse_haeder") == (
        "'parse_haeder' is neither a file nor a symbol defined here. Near: parse_header. Try find_symbol."
    )
