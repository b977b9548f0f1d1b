import pytest

from postfix import Malformed, evaluate


def test_sum():
    assert evaluate("1 2 +") == 3


def test_product_of_sums():
    assert evaluate("1 2 + 3 4 + *") == 21


def test_order_matters():
    assert evaluate("5 3 -") == 2
    assert evaluate("8 2 /") == 4


@pytest.mark.parametrize("expression", ["+", "1 2", "1 +", ""])
def test_malformed(expression):
    with pytest.raises(Malformed):
        evaluate(expression)
