from cart import total


def test_total():
    assert total([5]) == 5
