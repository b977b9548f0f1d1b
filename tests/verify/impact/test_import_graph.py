"""Import graph of files, read from their sources."""

import os
from pathlib import Path

import pytest

from coder.verify.results import find_words
from coder.verify.select import import_distances, imported_names, select_test_files
from tests.builders import write

FILES = {
    "src/shop/__init__.py": "from .cart import Cart\n",
    "src/shop/cart.py": "import json\n\ndef late():\n    from shop import money\n",
    "src/shop/money.py": "",
    "src/shop/lonely.py": "",
    "src/shop/found.py": "import importlib\n\ndef find(name):\n    return importlib.import_module(name)\n",
    "tests/conftest.py": "import helpers\n",
    "tests/helpers.py": "",
    "tests/test_shop.py": "import shop\n",
    "tests/deep/test_found.py": "from shop.found import find\n",
    "other/test_other.py": "",
}


def importers_of(tmp_path: Path, path: str) -> list[str]:
    write(tmp_path, FILES)
    words = {name: find_words(text) for name, text in FILES.items()}
    return sorted(
        importer.rpartition("/")[2] for importer in import_distances(tmp_path, FILES, words, [path])
    )


def test_collects_imports_anywhere_in_source() -> None:
    text = "import a.b, c\nfrom d import e\n\ndef late():\n    from . import f\n    from ..g import h\n"
    assert imported_names(text) == {"a.b", "c", "d", "d.e", ".", ".f", "..g", "..g.h"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from a import (\n    b,  # the first, of two\n    c as d,\n)\n", {"a", "a.b", "a.c"}),
        ("from a import b, \\\n    c\n", {"a", "a.b", "a.c"}),
        ("import a as b, c.d\n", {"a", "c.d"}),
        ("if x: pass\nfrom .a import *; y = 1\n", {".a", ".a.*"}),
        ('"""Use it so:\n\n>>> from a import b\n"""\n', {"a", "a.b"}),
        ("important = 1\nfrom_a = important\n", set()),
        ("def (\nimport a\n", {"a"}),
    ],
)
def test_reads_every_form_of_import(text: str, names: set[str]) -> None:
    assert imported_names(text) == names


def test_finds_indirect_importers(tmp_path: Path) -> None:
    assert "test_shop.py" in importers_of(tmp_path, "src/shop/money.py")
    assert "test_other.py" not in importers_of(tmp_path, "src/shop/money.py")


def test_dynamic_import_may_import_everything(tmp_path: Path) -> None:
    assert importers_of(tmp_path, "src/shop/lonely.py") == ["found.py", "lonely.py", "test_found.py"]


def test_pipe_among_modules_does_not_block(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    write(old, {"b.py": "", "test_a.py": "import b\n"})
    write(new, {"b.py": "B = 1\n", "test_a.py": "import b\n"})
    os.mkfifo(new / "pipe.py")
    selection = select_test_files(old, new, ["b.py"])
    assert selection is not None and selection.files == ("test_a.py",)
