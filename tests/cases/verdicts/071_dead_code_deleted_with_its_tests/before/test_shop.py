from shop import cheapest, total


def test_nothing():
    assert total([]) == 0


def test_cheapest():
    assert cheapest(['tea', 'cake']) == 'tea'
