"""Ranking of the repository map."""

from pathlib import Path

from coder.index.index import SymbolIndex
from coder.retrieval.repository_map import render_repository_map
from tests.builders import write

BOX = (
    "from shop.money import rounded\n\n\nclass Box:\n    def total(self):\n        return rounded(1)\n\n"
    "    def label(self): ...\n"
)
FILES = {
    "shop/__init__.py": "",
    "shop/till.py": (
        "from shop.box import Box\nfrom shop.money import rounded\n\n\ndef pay(box: Box):\n"
        "    return rounded(box.total())\n"
    ),
    "shop/box.py": BOX,
    "shop/money.py": "def rounded(value): ...\n\n\ndef unused(value): ...\n",
    "other/paint.py": "class Paint:\n    def total(self): ...\n",
}


def draw_map(root: Path, seeds: dict[str, float], budget: int = 1000) -> str:
    write(root, FILES)
    return render_repository_map(SymbolIndex(root).refresh(), seeds, budget)


def test_shows_referenced_files_before_unreferenced(tmp_path: Path) -> None:
    drawing = draw_map(tmp_path, {"shop/till.py": 1.0}, 180)
    assert "shop/money.py\n    1| def rounded(value)" in drawing
    assert "shop/box.py\n    4| class Box\n    5|   def total(self)" in drawing
    assert "unused" not in drawing
    assert "label" not in drawing


def test_imported_module_ranks_above_namesake(tmp_path: Path) -> None:
    drawing = draw_map(tmp_path, {"shop/till.py": 1.0})
    assert drawing.index("shop/box.py") < drawing.index("other/paint.py")


def test_a_seed_may_be_a_name(tmp_path: Path) -> None:
    assert draw_map(tmp_path, {"pay": 1.0}).startswith("shop/till.py\n    5| def pay(box: Box)\n")


def test_keeps_to_its_budget(tmp_path: Path) -> None:
    whole = draw_map(tmp_path, {"shop/till.py": 1.0})
    for budget in range(0, len(whole), 20):
        assert len(draw_map(tmp_path, {"shop/till.py": 1.0}, budget)) <= budget
    assert draw_map(tmp_path, {"shop/till.py": 1.0}, 0) == ""


def test_empty_map_prints_nothing(tmp_path: Path) -> None:
    assert draw_map(tmp_path, {}) == ""
    assert draw_map(tmp_path, {"no/such/file.py": 1.0, "nobody": 2.0}) == ""
