"""Names visible at a place."""

import ast

from coder.python.source import PythonSource
from coder.repair.generators.site import (
    attribute_names,
    local_names,
    module_names,
    most_similar_names,
    self_attribute_names,
)

TEXT = """\
import os.path as paths
from x import y

LIMIT = 3

class Cart:
    def add(self, item, *more, deep=False):
        self.items.append(item)
        def inner(one):
            total = self.price
            return total
        return inner

    def price(self):
        return self.items
"""


def test_lists_parameters_of_enclosing_functions_first() -> None:
    source = PythonSource("a.py", TEXT)
    node = next(
        candidate
        for candidate in ast.walk(source.tree)
        if isinstance(candidate, ast.Return) and source.text_of(candidate) == "return total"
    )
    assert local_names(source, node) == ("one", "total", "item", "more", "deep", "inner")
    assert self_attribute_names(source, node) == ("items", "price", "add")


def test_lists_module_names_and_attributes() -> None:
    source = PythonSource("a.py", TEXT)
    assert module_names(source) == ("paths", "y", "LIMIT", "Cart")
    assert attribute_names(source)[0] == "items"


def test_orders_most_similar_first_without_itself() -> None:
    similar = most_similar_names(
        "count", ("count", "counts", "size", "amount"), max_count=2, min_similarity=0.4
    )
    assert [name for name, _ in similar] == ["counts", "amount"]
