from shop.cart import total


def test_empty():
    assert total([], 19) == 0


def test_two_items():
    assert total([119, 59.51], 19) == 150.01
