import pytest

from shop import cheapest, total


def test_cheapest_item():
    assert cheapest(["cake", "tea"]) != "coffee"


def test_unknown_item():
    with pytest.raises(KeyError, match="milk"):
        total(["tea", "milk"])


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    assert total(["tea", "cake"]) == 8
