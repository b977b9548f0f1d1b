import pytest

import shop
from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_total_of_nothing():
    assert total([]) == 0


@pytest.fixture
def prices():
    if shop.total(["tea", "cake"]) != 8:
        raise RuntimeError("not yet")
    return shop.PRICES


def test_total(prices):
    assert total(["tea", "cake"]) == 8
