from edit_distance import distance


def test_nothing():
    assert distance("", "") == 0


def test_only_added():
    assert distance("", "abc") == 3


def test_only_removed():
    assert distance("abc", "") == 3


def test_same():
    assert distance("kitten", "kitten") == 0


def test_changed():
    assert distance("kitten", "sitting") == 3
    assert distance("flaw", "lawn") == 2
    assert distance("a", "b") == 1
