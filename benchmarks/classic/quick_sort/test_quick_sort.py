from quick_sort import quick_sort


def test_empty():
    assert quick_sort([]) == []


def test_distinct():
    assert quick_sort([3, 1, 2]) == [1, 2, 3]


def test_words():
    assert quick_sort(["pear", "apple", "fig"]) == ["apple", "fig", "pear"]


def test_repeated():
    assert quick_sort([2, 3, 2, 1, 3]) == [1, 2, 2, 3, 3]
