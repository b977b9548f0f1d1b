from all_pairs import FAR, all_pairs


def test_nothing():
    assert all_pairs([]) == []


def test_symmetric():
    lengths = [[0, 1, 9], [1, 0, 2], [9, 2, 0]]
    assert all_pairs(lengths) == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]


def test_one_way():
    lengths = [[0, 3, FAR], [FAR, 0, 1], [2, FAR, 0]]
    assert all_pairs(lengths) == [[0, 3, 4], [3, 0, 1], [2, 5, 0]]


def test_given_stays():
    lengths = [[0, 5], [5, 0]]
    all_pairs(lengths)
    assert lengths == [[0, 5], [5, 0]]
