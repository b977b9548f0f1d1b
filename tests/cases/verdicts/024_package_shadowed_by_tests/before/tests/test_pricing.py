from shop.pricing import total


def test_total():
    assert total(["tea", "cake"]) == 8
