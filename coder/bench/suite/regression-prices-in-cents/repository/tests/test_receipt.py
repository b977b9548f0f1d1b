from lampshop.cart import Cart
from lampshop.receipt import receipt


def test_change():
    cart = Cart()
    cart.add("cord")
    assert receipt(cart, 1000) == "Paid 10.00, change 2.90"
