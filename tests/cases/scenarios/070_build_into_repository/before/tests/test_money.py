import pytest

from shop.money import check_cents


def test_refuses_negative_amount():
    with pytest.raises(ValueError):
        check_cents(-1)
