"""Resolution of dotted Python names."""

from pathlib import Path

import pytest

from coder.index.index import SymbolIndex, find_uses, resolve_name
from coder.index.snapshot import IndexedPlace, IndexSnapshot
from tests.builders import write, write_tree

FILES = {
    "src/shop/__init__.py": (
        "from .box import Box as Crate, LIMIT\nfrom . import money\nfrom .star import *\n"
    ),
    "src/shop/box.py": (
        "from shop.base import Base\n\nLIMIT = 3\n\n\nclass Box(Base):\n    def size(self): ...\n\n"
        "    class Lid: ...\n"
    ),
    "src/shop/base.py": "class Root:\n    def open(self): ...\n\n\nclass Base(Root): ...\n",
    "src/shop/money.py": "def rounded(): ...\n",
    "src/shop/star.py": "def shine(): ...\n",
    "src/shop/loop_a.py": "from shop.loop_b import thing\n",
    "src/shop/loop_b.py": "from shop.loop_a import thing\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/pot.py": "from ..box import Box\nfrom .. import money as cash\nimport shop.money\n",
    "tests/box.py": "class Fake: ...\n",
}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> IndexSnapshot:
    root = tmp_path_factory.mktemp("tree")
    write(root, FILES)
    return SymbolIndex(root).refresh()


@pytest.mark.parametrize(
    ("dotted", "importer", "expected"),
    [
        ("shop.box.Box", "", "src/shop/box.py Box"),
        ("shop.Crate.size", "", "src/shop/box.py Box.size"),
        ("shop.Crate.size()", "", "src/shop/box.py Box.size"),
        ("shop.LIMIT", "", "src/shop/box.py LIMIT"),
        ("shop.shine", "", "src/shop/star.py shine"),
        ("shop.money.rounded", "", "src/shop/money.py rounded"),
        ("shop.Crate.open", "", "src/shop/base.py Root.open"),
        ("shop.box.Box.Lid", "", "src/shop/box.py Box.Lid"),
        ("shop.box.Box.made_at_run_time", "", "src/shop/box.py Box"),
        ("shop.box.nothing", "", "src/shop/box.py -"),
        ("shop.deep", "", "src/shop/deep/__init__.py -"),
        ("Box.size", "src/shop/deep/pot.py", "src/shop/box.py Box.size"),
        ("cash.rounded", "src/shop/deep/pot.py", "src/shop/money.py rounded"),
        ("shop.money.rounded", "src/shop/deep/pot.py", "src/shop/money.py rounded"),
        ("..box.Box", "src/shop/deep/pot.py", "src/shop/box.py Box"),
        (".pot", "src/shop/deep/__init__.py", "src/shop/deep/pot.py -"),
        ("Box", "src/shop/box.py", "src/shop/box.py Box"),
    ],
)
def test_follows_name_to_definition(
    snapshot: IndexSnapshot, dotted: str, importer: str, expected: str
) -> None:
    target = resolve_name(snapshot, dotted, importer=importer)
    assert [f"{place.path} {place.definition.name if place.definition else '-'}" for place in target] == [
        expected
    ]


@pytest.mark.parametrize("dotted", ["os.path.join", "nobody", "", ".", "...", "a" * 5000])
def test_names_outside_tree_resolve_to_nothing(snapshot: IndexSnapshot, dotted: str) -> None:
    assert resolve_name(snapshot, dotted) == ()


def test_mutual_star_imports_are_searched_once(tmp_path: Path) -> None:
    names = [f"part{number}" for number in range(16)]
    everything = {
        f"shop/{name}.py": "".join(f"from shop.{other} import *\n" for other in names if other != name)
        for name in names
    }
    write(
        tmp_path,
        everything
        | {
            "shop/__init__.py": "from shop.part0 import *\n",
            "shop/last.py": "from shop.part3 import absent\n",
        },
    )
    assert resolve_name(SymbolIndex(tmp_path).refresh(), "shop.absent") == (
        IndexedPlace(path="shop/__init__.py"),
    )


def test_variable_that_holds_an_import_hides_no_use(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "text.js": "function parse(text) { return text }\nexports.parse = parse\n",
            "app.js": "var parse = require('./text').parse\n\nparse('a')\n",
            "other.js": "var parse = function () {}\n\nparse('a')\n",
        },
    )
    snapshot = SymbolIndex(tmp_path).refresh()
    definition = next(item for item in snapshot.definitions("text.js") if item.name == "parse")
    uses = find_uses(snapshot, [IndexedPlace(path="text.js", definition=definition)])
    assert {use.path for use in uses} == {"app.js", "text.js"}
