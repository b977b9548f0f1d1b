from shop import cheapest, total


def test_dearest_item_is_found():
    assert cheapest(["cake", "tea"]) == "cake"


def test_total_of_nothing():
    assert total([]) == 0


def test_total():
    assert total(["tea", "cake"]) == 8
