import pytest

from shop import PRICES, total


@pytest.mark.parametrize('item', sorted(PRICES))
def test_price(item):
    assert total([item]) > 0


def test_nothing():
    assert total([]) == 0
