from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_total():
    assert total([]) == 0
    assert total(["tea", "cake"]) == 5
