from counting_sort import counting_sort


def test_nothing():
    assert counting_sort([]) == []


def test_some():
    assert counting_sort([4, 0, 2, 2, 1]) == [0, 1, 2, 2, 4]


def test_one_value():
    assert counting_sort([3, 3]) == [3, 3]
