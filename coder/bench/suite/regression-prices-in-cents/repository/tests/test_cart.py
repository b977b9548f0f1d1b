import pytest

from lampshop.cart import Cart
from lampshop.catalogue import Unknown


def test_total():
    cart = Cart()
    cart.add("lamp", 2)
    cart.add("bulb")
    assert cart.total() == 8295


def test_unknown():
    with pytest.raises(Unknown):
        Cart().add("sofa")
