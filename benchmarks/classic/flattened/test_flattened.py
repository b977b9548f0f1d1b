from flattened import depth, flattened


def test_flat():
    assert flattened([1, 2]) == [1, 2]


def test_empty():
    assert flattened([]) == []


def test_nested():
    assert flattened([1, [2, [3, []]], 4]) == [1, 2, 3, 4]


def test_depth():
    assert depth([1, [2, [3]]]) == 3


def test_strings_are_no_lists():
    assert flattened(["ab", ["cd"]]) == ["ab", "cd"]
