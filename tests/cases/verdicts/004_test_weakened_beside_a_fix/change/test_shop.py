from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) != "coffee"


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    assert total(["tea", "cake"]) == 8
