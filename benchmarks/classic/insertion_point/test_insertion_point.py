from insertion_point import leftmost, rightmost


def test_between():
    assert leftmost([1, 3, 5], 4) == rightmost([1, 3, 5], 4) == 2


def test_ends():
    assert leftmost([1, 3], 0) == 0
    assert rightmost([1, 3], 9) == 2


def test_equal_on_the_left():
    assert leftmost([1, 2, 2, 2, 3], 2) == 1


def test_equal_on_the_right():
    assert rightmost([1, 2, 2, 2, 3], 2) == 4
    assert rightmost([2], 2) == 1
