from linked_list import made_of, reverse, values


def test_there_and_back():
    assert values(made_of([1, 2, 3])) == [1, 2, 3]


def test_reverse_nothing():
    assert reverse(None) is None


def test_reverse():
    assert values(reverse(made_of([1, 2, 3]))) == [3, 2, 1]


def test_reverse_one():
    assert values(reverse(made_of("a"))) == ["a"]
