from items import split_items


def test_split_items():
    assert split_items("a,b") == ["a", "b"]


def test_separators_are_kept():
    assert split_items("a,b", separators=True) == ["a", ",", "b"]
