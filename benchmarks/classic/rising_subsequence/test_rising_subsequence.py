from rising_subsequence import longest_rising


def test_nothing():
    assert longest_rising([]) == 0


def test_rising():
    assert longest_rising([1, 2, 3]) == 3


def test_falling():
    assert longest_rising([3, 2, 1]) == 1


def test_an_early_long_one():
    assert longest_rising([5, 6, 1, 7]) == 3
    assert longest_rising([10, 9, 2, 5, 3, 7, 101, 18]) == 4


def test_equal_do_not_rise():
    assert longest_rising([2, 2, 2]) == 1
