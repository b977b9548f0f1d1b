import pytest

from coder.python.source import (
    ImportedName,
    defined_names,
    list_imports,
    third_party_modules,
)


def test_makes_relative_imports_absolute() -> None:
    text = "from . import cart\nfrom .money import Money as M\nfrom ..tools import x\nimport os.path\n"
    assert list_imports(text, "shop/inner/api.py") == (
        ImportedName("shop.inner", "cart", 1),
        ImportedName("shop.inner.money", "Money", 2),
        ImportedName("shop.tools", "x", 3),
        ImportedName("os.path", "", 4),
    )
    assert list_imports("from .cart import Cart\n", "shop/__init__.py") == (
        ImportedName("shop.cart", "Cart", 1),
    )


def test_finds_third_party_modules_also_inside_functions() -> None:
    texts = [("shop/a.py", "import json, yaml\nfrom shop import b\ndef f():\n    import requests.adapters\n")]
    assert third_party_modules(texts, {"shop"}) == ("yaml", "requests")


@pytest.mark.parametrize("text", ["from os import *\n", "def __getattr__(name): ...\n", "def f(:\n"])
def test_names_may_be_unknown(text: str) -> None:
    assert defined_names(text) is None
