import pytest

from shop import cheapest, total


def test_cheapest_item_is_found():
    assert cheapest(["cake", "tea"]) == "tea"


@pytest.mark.parametrize("name", ["milk", "bread"])
def test_unknown_item(name):
    with pytest.raises(KeyError, match=name):
        total(["tea", name])


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    assert total(["tea", "cake"]) == 8
