from shop import cheapest, total


def test_cheapest():
    assert cheapest(["cake", "tea"]) == "tea"


def test_total():
    assert total([]) == 0
    assert total(["tea", "cake"]) == 8


def test_total_of_one():
    assert total(["tea"]) == 3
