import pytest

from lampshop.cart import Cart
from lampshop.invoice import invoice
from lampshop.receipt import receipt


@pytest.mark.parametrize(
    ("article", "count", "percent", "total"), [("lamp", 2, 0, "80.00"), ("bulb", 1, 0, "2.95"), ("bulb", 3, 10, "7.96"), ("cord", 0, 0, "0.00")]
)
def test_total(article, count, percent, total):
    cart = Cart()
    cart.add(article, count)
    assert invoice(cart, percent=percent).splitlines()[-1] == f"Total: {total}"


def test_cents_stay_cents():
    cart = Cart()
    cart.add("cord")
    assert cart.total() == 710
    assert receipt(cart, 710) == "Paid 7.10, change 0.00"
