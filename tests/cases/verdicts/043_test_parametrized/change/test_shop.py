import pytest

from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_unknown_item():
    with pytest.raises(KeyError, match="milk"):
        total(["tea", "milk"])


@pytest.mark.parametrize(("items", "price"), [([], 0), (["tea", "cake"], 8)])
def test_total(items, price):
    assert total(items) == price
