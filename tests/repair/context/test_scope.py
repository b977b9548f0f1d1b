"""Names visible at a place."""

import ast

from coder.python.source import Source
from coder.repair.context.scope import attributes, local_names, module_names, most_alike, own_attributes

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
    source = Source("a.py", TEXT)
    node = next(
        candidate
        for candidate in ast.walk(source.tree)
        if isinstance(candidate, ast.Return) and source.code(candidate) == "return total"
    )
    assert local_names(source, node) == ("one", "total", "item", "more", "deep", "inner")
    assert own_attributes(source, node) == ("items", "price", "add")


def test_lists_module_names_and_attributes() -> None:
    source = Source("a.py", TEXT)
    assert module_names(source) == ("paths", "y", "LIMIT", "Cart")
    assert attributes(source)[0] == "items"


def test_orders_most_similar_first_without_itself() -> None:
    similar = most_alike("count", ("count", "counts", "size", "amount"), count=2, least=0.4)
    assert [name for name, _ in similar] == ["counts", "amount"]
