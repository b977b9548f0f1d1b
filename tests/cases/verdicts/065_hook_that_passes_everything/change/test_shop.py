from shop import total


def test_nothing():
    assert total([]) == 0


def test_total():
    assert total(['tea', 'cake']) == 8
