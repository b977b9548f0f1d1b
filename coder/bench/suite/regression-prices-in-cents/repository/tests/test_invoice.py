from lampshop.cart import Cart
from lampshop.invoice import invoice


def test_lines():
    cart = Cart()
    cart.add("lamp", 2)
    assert invoice(cart).startswith("2 x lamp: 80.00\nTotal: 80")
