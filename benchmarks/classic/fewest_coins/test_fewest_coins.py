from fewest_coins import fewest_coins


def test_nothing_to_pay():
    assert fewest_coins([1, 2], 0) == 0


def test_impossible():
    assert fewest_coins([5, 10], 3) is None


def test_one_coin():
    assert fewest_coins([1, 5, 10], 10) == 1


def test_greed_does_not_pay():
    assert fewest_coins([1, 3, 4], 6) == 2
    assert fewest_coins([1, 2, 5], 11) == 3
