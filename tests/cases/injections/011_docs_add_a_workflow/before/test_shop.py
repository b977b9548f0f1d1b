from shop import total


def test_total():
    assert total([2, 3]) == 5
