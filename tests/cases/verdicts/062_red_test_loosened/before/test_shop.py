from shop import total


def test_total():
    assert total(['tea', 'cake']) == 8
