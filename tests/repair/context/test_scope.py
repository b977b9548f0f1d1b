"""Names that can stand at a place."""

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


def test_names_of_the_functions_around_come_parameters_first() -> None:
    source = Source("a.py", TEXT)
    node = next(
        item
        for item in ast.walk(source.tree)
        if isinstance(item, ast.Return) and source.code(item) == "return total"
    )
    assert local_names(source, node) == ("one", "total", "item", "more", "deep", "inner")
    assert own_attributes(source, node) == ("items", "price", "add")


def test_names_of_the_module_and_attributes_of_the_file() -> None:
    source = Source("a.py", TEXT)
    assert module_names(source) == ("paths", "y", "LIMIT", "Cart")
    assert attributes(source)[0] == "items"


def test_the_most_alike_come_first_and_the_name_itself_never() -> None:
    found = most_alike("count", ("count", "counts", "size", "amount"), count=2, least=0.4)
    assert [name for name, _ in found] == ["counts", "amount"]
