from shop import cheapest


def test_cheapest():
    assert cheapest(['tea', 'cake']) == 'tea'
