import pytest

from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_unknown_item():
    with pytest.raises(KeyError, match="milk"):
        total(["tea", "milk"])


def test_total_of_nothing():
    assert total([]) == 0
