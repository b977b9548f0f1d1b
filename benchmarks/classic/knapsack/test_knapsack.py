from knapsack import most_value


def test_nothing_fits():
    assert most_value([(5, 10)], 4) == 0


def test_all_fit():
    assert most_value([(1, 1), (2, 2)], 3) == 3


def test_each_thing_once():
    assert most_value([(1, 5)], 4) == 5
    assert most_value([(2, 3), (3, 4)], 9) == 7


def test_a_choice():
    assert most_value([(1, 1), (3, 4), (4, 5), (5, 7)], 7) == 9
