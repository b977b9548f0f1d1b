from merge_sort import merge, merge_sort


def test_short():
    assert merge_sort([]) == []
    assert merge_sort([1]) == [1]


def test_two():
    assert merge_sort([2, 1]) == [1, 2]


def test_all():
    assert merge_sort([3, 1, 2, 5, 4, 9, 7]) == [1, 2, 3, 4, 5, 7, 9]


def test_merge_takes_the_tail_of_the_left():
    assert merge([4, 5, 6], [1]) == [1, 4, 5, 6]


def test_merge_takes_the_tail_of_the_right():
    assert merge([1, 2], [3, 4, 5]) == [1, 2, 3, 4, 5]
